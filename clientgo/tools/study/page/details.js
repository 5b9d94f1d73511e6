"use strict";
/* What the page knows of one key: its time line, its object, and the code behind a hop. */

var Study = globalThis.Study || (globalThis.Study = {});

Study.details = ({ body, title, sources, onJump }) => {
  const { tell, seconds } = Study.words;
  const TIMELINE = 60;
  let key = "", chosen = -1, resource = "", drawn = "";

  const make = (name, attributes = {}, ...children) => {
    const element = document.createElement(name);
    for (const [attribute, value] of Object.entries(attributes)) {
      if (attribute.startsWith("on")) element.addEventListener(attribute.slice(2), value);
      else if (value !== undefined) element.setAttribute(attribute, value);
    }
    element.append(...children);
    return element;
  };

  /* -- the object ----------------------------------------------------------------------------- */

  const NOISE = new Set(["managedFields", "uid", "selfLink"]);

  /* With the fields sorted: the versions of an object can have them in different orders. */
  function text(value, indent = "") {
    if (value === null || typeof value !== "object") return JSON.stringify(value);
    const inner = indent + "  ";
    const entries = Array.isArray(value) ? value.map((item) => ["-", item])
      : Object.entries(value).filter(([name]) => !NOISE.has(name)).sort(([a], [b]) => (a < b ? -1 : 1));
    if (!entries.length) return Array.isArray(value) ? "[]" : "{}";
    return entries.map(([name, item]) => {
      const nested = item !== null && typeof item === "object" && Object.keys(item).length;
      const head = name === "-" ? "-" : name + ":";
      return "\n" + indent + head + (nested ? text(item, inner) : " " + text(item, inner));
    }).join("");
  }

  const linesOf = (object) => (object ? text(object).slice(1).split("\n") : []);

  /* The longest common lines of two texts decide what is old and what is new. */
  function difference(before, after) {
    const table = Array.from({ length: before.length + 1 }, () => new Uint16Array(after.length + 1));
    for (let i = before.length - 1; i >= 0; i -= 1) {
      for (let j = after.length - 1; j >= 0; j -= 1) {
        table[i][j] = before[i] === after[j] ? table[i + 1][j + 1] + 1
          : Math.max(table[i + 1][j], table[i][j + 1]);
      }
    }
    const rows = [];
    let i = 0, j = 0;
    while (i < before.length || j < after.length) {
      if (i < before.length && j < after.length && before[i] === after[j]) {
        rows.push([" ", before[i]]);
        i += 1;
        j += 1;
      } else if (j >= after.length || (i < before.length && table[i + 1][j] >= table[i][j + 1])) {
        rows.push(["-", before[i]]);
        i += 1;
      } else {
        rows.push(["+", after[j]]);
        j += 1;
      }
    }
    return rows;
  }

  /* Only the changed lines, each with its parents, so that one sees where they are. */
  function changedRows(rows) {
    const depth = (row) => row[1].search(/\S/);
    const keep = new Set();
    rows.forEach((row, i) => {
      if (row[0] === " ") return;
      keep.add(i);
      let level = depth(row);
      for (let up = i - 1; up >= 0 && level > 0; up -= 1) {
        if (depth(rows[up]) < level) {
          keep.add(up);
          level = depth(rows[up]);
        }
      }
    });
    return rows.filter((_, i) => keep.has(i));
  }

  function objectPart(lines, position) {
    const versions = [];
    for (let i = 0; i < position; i += 1) {
      if (lines[i].hop === "study.object" && lines[i].key === key) versions.push(lines[i]);
    }
    const resources = [...new Set(versions.map((line) => line.resource))];
    if (!resources.length) return null;
    if (!resources.includes(resource)) resource = resources[0];
    const own = versions.filter((line) => line.resource === resource);
    const last = own[own.length - 1], before = own.length > 1 ? own[own.length - 2] : null;
    const rows = before ? changedRows(difference(linesOf(before.object), linesOf(last.object)))
      : linesOf(last.object).slice(0, 24).map((line) => [" ", line]);
    const tabs = make("div", { class: "tabs", role: "group", "aria-label": "which object" },
      ...resources.map((name) => make("button", {
        class: "tab", "aria-pressed": String(name === resource),
        onclick: () => { resource = name; onJump(position); },
      }, name)));
    const about = last.type === "DELETED" ? `deleted at version ${last.version}`
      : before ? `version ${before.version} → ${last.version}` : `version ${last.version}, the first`;
    const block = make("pre", { class: "diff", tabindex: "0" }, ...rows.slice(0, 80).map(([sign, line]) =>
      make("span", { class: { "+": "new", "-": "old", " ": "same" }[sign] }, `${sign} ${line}\n`)));
    if (!rows.length) block.append(make("span", { class: "same" }, "only its version has changed"));
    return make("section", {}, make("h3", {}, "The object"), tabs, make("p", { class: "muted" }, about), block);
  }

  /* -- the code ------------------------------------------------------------------------------- */

  /* The function of the controller that a hop belongs to. */
  function ownCode(lines, line) {
    if (line.hop.startsWith("sync.")) return "sync";
    if (line.hop === "study.held") return line.boundary;
    if (line.hop === "handler.call") return "handler.call " + Study.model.plain(line.of);
    if (line.hop !== "queue.add") return "";
    for (let i = lines.indexOf(line); i >= 0; i -= 1) {
      const before = lines[i];
      if (before.thread === line.thread && before.hop === "handler.call") return ownCode(lines, before);
    }
    return "";
  }

  function sourcesOf(lines, line) {
    const found = new Map(sources.map((source) => [`${source.whose} ${source.of}`, source]));
    const own = found.get("own " + ownCode(lines, line));
    const library = found.get("library " + line.hop);
    return [own, library].filter(Boolean);
  }

  function codePart(lines) {
    const line = lines[chosen];
    if (!line) return null;
    const shown = sourcesOf(lines, line);
    const section = make("section", {}, make("h3", {}, "The code behind this hop"),
      make("p", {}, tell(line) + "."));
    for (const source of shown) {
      section.append(make("p", { class: "muted where" },
        (source.whose === "own" ? "your controller: " : "the library: "),
        make("code", {}, `${source.file}:${source.line}`)));
      section.append(make("pre", { class: "code", tabindex: "0" }, ...source.text.map((row, i) =>
        make("span", { class: source.first + i === source.line ? "here" : "" },
          `${String(source.first + i).padStart(4)}  ${row}\n`))));
    }
    if (!shown.length) section.append(make("p", { class: "muted" }, "This recording has no code for it."));
    return section;
  }

  /* -- the time line -------------------------------------------------------------------------- */

  const isBookmark = (line) => line.type === "BOOKMARK";

  function timelinePart(lines, position) {
    const own = [], folded = new Map(); // the last of several bookmarks, and how many there are
    for (let i = position - 1; i >= 0 && own.length < TIMELINE; i -= 1) {
      const line = lines[i], last = own[own.length - 1];
      if ((key && line.key !== key) || line.hop === "study.source" || line.hop === "study.released") continue;
      if (isBookmark(line) && last !== undefined && isBookmark(lines[last])) folded.set(last, (folded.get(last) || 1) + 1);
      else own.push(i);
    }
    const list = make("ol", { class: "timeline", reversed: "" }, ...own.map((i, place) => {
      const line = lines[i], next = own[place + 1];
      const told = tell(line) + (folded.has(i) ? ` (the last of ${folded.get(i)} bookmarks)` : "");
      const gap = next === undefined ? "" : "+" + seconds(Math.max(line.at - lines[next].at, 0));
      return make("li", {}, make("button", {
        class: "hop", "aria-pressed": String(i === chosen),
        title: `${line.hop} at ${line.at.toFixed(3)} s in thread ${line.thread}`,
        onclick: () => {
          chosen = chosen === i ? -1 : i;
          onJump(position);
          body.scrollTop = 0;
        },
      }, make("span", { class: "gap" }, gap), make("span", { class: "dot " + line.hop.split(".")[0] }),
        make("span", { class: "told" }, told)));
    }));
    return make("section", {}, make("h3", {}, key ? "Its time line, the last hop first" : "The last hops"), list);
  }

  /* -- drawing -------------------------------------------------------------------------------- */

  function draw(lines, position, colour) {
    const now = JSON.stringify([key, chosen, resource, position]);
    if (now === drawn) return;
    drawn = now;
    title.replaceChildren();
    if (key) {
      const chip = make("span", { class: "chip" }, key);
      chip.style.setProperty("--key", `var(--key-${colour})`);
      title.append(chip, make("button", { class: "quiet", onclick: () => onJump(-1),
        title: "show all keys (Esc)" }, "all keys"));
    } else title.append(make("h2", {}, "What happens"));
    const parts = [codePart(lines), key ? objectPart(lines, position) : null,
      timelinePart(lines, position)];
    const scrolled = body.scrollTop;
    body.replaceChildren(...parts.filter(Boolean));
    body.scrollTop = scrolled;
  }

  return {
    draw,
    get key() { return key; },
    choose(which) {
      key = which;
      chosen = -1;
      drawn = "";
    },
    again() { drawn = ""; },
  };
};
