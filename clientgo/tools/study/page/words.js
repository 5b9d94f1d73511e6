"use strict";
/* What each part is, and what each hop means, for a reader who has never seen an informer. */

var Study = globalThis.Study || (globalThis.Study = {});

Study.words = (() => {
  const PARTS = {
    server: ["API server",
      "Stores the objects. Each write gives an object a new resource version. A controller lists "
      + "the objects once, and then watches: the server sends it every change."],
    reflector: ["Reflector",
      "Keeps a copy up to date: it lists, then watches from the version of the list. When the "
      + "watch ends it opens the next one at the last version; if that version is too old (410 "
      + "Gone), it lists again."],
    fifo: ["DeltaFIFO",
      "Changes wait here in order, collected by object: ten changes of one object are one entry "
      + "with ten deltas. It separates reading from the network from processing."],
    index: ["Indexer",
      "The cache: the local copy of all objects, with indexes. Listers read it. A worker reads here instead "
      + "of asking the API server, so it always sees the latest known state."],
    handlers: ["Event handlers",
      "Your code, called for each change after the cache has it. A good handler does not act: it "
      + "only puts the key of the object into the work queue."],
    queue: ["Work queue",
      "Holds keys, not events. A key is in it once, however often it is added. A key that is added "
      + "while a worker processes it (dirty) comes out again after done."],
    worker: ["Workers",
      "Threads that take one key, run your sync function, and give the key back with done. Two "
      + "workers never process the same key at the same time."],
  };

  const SECTIONS = {
    ready: ["Ready", "Keys that wait for a worker, the oldest first."],
    processing: ["Being processed", "A worker has taken the key and has not called done yet."],
    dirty: ["Dirty", "Added again while being processed. After done, the key becomes ready."],
    delayed: ["Delayed", "Added with a delay, often after a failure. The time left is shown."],
    failures: ["Failures", "How often a key has failed in a row, and its last back-off. forget "
      + "removes it."],
  };

  const BOUNDARIES = {
    "watch.read": "before it passes on an event",
    "fifo.take": "before a take from the DeltaFIFO",
    "queue.take": "before a take from the queue",
    sync: "before the sync",
  };

  const seconds = (value) => {
    if (!(value >= 0)) return "";
    if (value < 0.00095) return Math.round(value * 1e6) + " µs";
    if (value < 0.0995) return Math.round(value * 1000) + " ms";
    if (value < 9.95) return value.toFixed(1) + " s";
    if (value < 120) return Math.round(value) + " s";
    return value < 7200 ? Math.round(value / 60) + " min" : Math.round(value / 3600) + " h";
  };

  const cut = (text) => (text.length > 150 ? text.slice(0, 150) + "…" : text);
  const short = (key) => (key || "").replace(/^default\//, "");

  const DELTAS = { Added: "added", Updated: "updated", Deleted: "deleted", Replaced: "replaced",
    Sync: "a resync of" };

  /* A request as RBAC names it: the verb, the plural, the name. */
  function request({ method, path }) {
    const [where, query = ""] = (path || "").split("?");
    const parts = where.replace(/^\/(api\/[^/]+|apis\/[^/]+\/[^/]+)\//, "").split("/");
    if (parts[0] === "namespaces" && parts.length > 2) parts.splice(0, 2);
    const what = parts.join("/");
    if (/(^|&)watch=/.test(query)) return `watch ${what}`;
    const verb = { GET: parts.length > 1 ? "get" : "list", POST: "create", PUT: "update",
      PATCH: "patch", DELETE: "delete" }[method];
    return `${verb || method} ${what}`;
  }

  const STATUS = { 200: "OK", 201: "Created", 404: "Not Found", 409: "Conflict", 410: "Gone",
    422: "Unprocessable", 429: "Too Many Requests", 500: "Internal Server Error",
    503: "Service Unavailable" };
  const status = (code) => (STATUS[code] ? `${code} ${STATUS[code]}` : String(code));

  /* The informer of a hop: "Foo", "Deployment". */
  const who = (l) => Study.model.plain(l.of).replace(/^informer-/, "");
  const thread = (l) => (l.thread || "").replace(/ \(.*/, ""); // without the functions of a handler
  const isTooOld = (reason) => /^too old resource version/.test(reason || "");

  /* What a list or a watch asks for, or what a worker sends. The model has noted `again`. */
  function sent(l) {
    if (l.key) return `${thread(l)} sends: ${request(l)}`;
    const [, from] = /[?&]resourceVersion=(\d+)/.exec(l.path) || [];
    if (!l.lists) return `${who(l)}'s reflector sends: ${request(l)}` + (from ? ` from version ${from}` : "");
    return `${who(l)} lists${l.again ? " again" : ""}: its reflector asks for all objects`;
  }

  function event(l) {
    if (l.type === "BOOKMARK") return `${who(l)}'s watch sends a bookmark` + (l.version ? `, version ${l.version}` : "");
    if (l.type === "ERROR") {
      return `${who(l)}'s watch gets ${l.status ? status(l.status) : "an error"}`
        + (l.status === 410 && l.since ? `: version ${l.since} is too old` : "");
    }
    return `${who(l)}'s watch sends ${l.type} ${short(l.key)}, version ${l.version}`;
  }

  const TELL = {
    "request.sent": sent,
    "request.answered": (l) => {
      const whom = l.key ? thread(l) : `${who(l)}'s reflector`;
      if (!l.status) return `${whom} has no connection to the API server`;
      return `the API server answers ${whom} ${status(l.status)}` + (l.seconds ? ` after ${seconds(l.seconds)}` : "");
    },
    "list.page": (l) => `${who(l)} gets a list of ${l.count} object${l.count === 1 ? "" : "s"}`,
    "watch.opened": (l) => `${who(l)}'s watch is open` + (l.version ? ` from version ${l.version}` : ""),
    "watch.event": event,
    "watch.ended": (l) => `${who(l)}'s watch ends`
      + (isTooOld(l.reason) ? ": 410 Gone" + (l.since ? `, version ${l.since} is too old` : "")
        : l.reason && l.reason !== "closed" ? `: ${cut(l.reason)}` : ""),
    "fifo.append": (l) => `${who(l)}'s DeltaFIFO gets `
      + (l.tombstone ? `a tombstone of ${short(l.key)}` : `${DELTAS[l.delta] || l.delta} ${short(l.key)}`),
    "fifo.pop": (l) => {
      const many = Array.isArray(l.deltas) ? l.deltas.length : l.deltas;
      return `the entry of ${short(l.key)} leaves ${who(l)}'s DeltaFIFO`
        + (many > 1 ? ` with ${many} deltas` : "");
    },
    "index.update": (l) => l.action === "delete"
      ? `${who(l)}'s cache removes ${short(l.key)}`
      : `${who(l)}'s cache has ${short(l.key)}` + (l.version ? ` at version ${l.version}` : ""),
    "cache.get": (l) => `${thread(l)} reads ${short(l.key)} in ${who(l)}'s cache: `
      + (l.missing ? "it is not there" : `version ${l.version}`),
    "handler.call": (l) => `${who(l)}'s handler is called: ${l.event} `
      + (l.tombstone ? `with the tombstone of ${short(l.key)}` : short(l.key)),
    "queue.add": (l) => ({
      known: `${short(l.key)} waits in the queue already: one entry is enough`,
      while_processing: `${short(l.key)} is being processed: it is dirty and will come out again`,
    })[l.outcome] || `${short(l.key)} enters the queue`,
    "queue.add_after": (l) => `${short(l.key)} will be added in ${seconds(l.delay)}`,
    "queue.add_rate_limited": (l) => `failure ${l.failures} of ${short(l.key)}: again in `
      + seconds(l.delay),
    "queue.forget": (l) => `the failures of ${short(l.key)} are forgotten`,
    "queue.get": (l) => `${thread(l)} takes ${short(l.key)}`,
    "queue.done": (l) => `${short(l.key)} is done` + (l.again ? ", and ready again: it was dirty" : ""),
    "sync.start": (l) => `${thread(l)} syncs ${short(l.key)}`,
    "sync.end": (l) => l.error
      ? `the sync of ${short(l.key)} fails: ${cut(l.error)}`
      : `${short(l.key)} is synced` + (l.seconds ? ` in ${seconds(l.seconds)}` : ""),
    "event.recorded": (l) => `an event is recorded: ${l.reason}`,
    "study.object": (l) => `${short(l.key)} (${l.resource}) is ${(l.type || "").toLowerCase()} on the`
      + ` server, version ${l.version}`,
    "study.held": (l) => `${thread(l)} is held ${BOUNDARIES[l.boundary] || "at " + l.boundary}`,
    "study.released": (l) => `${thread(l)} goes on`,
    "study.pace": (l) => l.message || ({ paused: "you pause", slow: "you choose slow motion" })[l.mode]
      || "you let it run",
    "study.action": (l) => l.message || l.action,
    "study.healed": (l) => `a fault has ended: ${(l.lifted || []).join(", ")}`,
  };

  /* The answer to "how many syncs follow?". */
  function counted(c) {
    const many = (count, what) => `${count} ${what}${count === 1 ? "" : "s"}`;
    return `${many(c.edits, "edit")} → ${many(c.events, "event")} → ${many(c.adds, "add")}: ${c.fresh} new, `
      + `${c.ready} merged while ready, ${c.processing} merged while processed → ${many(c.syncs, "sync")}`
      + (c.failed ? ` (${c.failed} failed)` : "");
  }

  function tell(line) {
    const how = TELL[line.hop];
    return how ? how(line) : line.hop + (line.key ? " " + short(line.key) : "");
  }

  return { PARTS, SECTIONS, BOUNDARIES, tell, counted, isTooOld, status, seconds, short, request };
})();
