"""Programs on the library: the command `clientgo`, new projects, the page to study with."""
