"use strict";
/* What the recording says is where, after each line. Pure: no DOM, no time of its own.

   apply(state, line) changes the state and returns what moved: [{from, to, key, label, kind}].
   Places: "server", "reflector:NAME", "fifo:NAME", "index:NAME", "handlers:NAME", "queue:NAME",
   "worker:THREAD". */

var Study = globalThis.Study || (globalThis.Study = {});

Study.model = (() => {
  function initial() {
    return {
      at: 0, count: 0,
      informers: new Map(), queues: new Map(), workers: new Map(), held: new Map(),
      server: { objects: new Map(), requests: 0, failed: 0, lastFailure: "", faults: new Map() },
      threads: new Map(), readers: new Map(), colours: new Map(),
      pace: "running", last: null, counted: null,
    };
  }

  function informer(state, name) {
    let found = state.informers.get(name);
    if (!found) {
      found = {
        name, state: "starting", version: "", reason: "", events: 0, bookmarks: 0, lists: 0,
        fifo: new Map(), cache: new Map(), handlers: new Map(),
      };
      state.informers.set(name, found);
    }
    return found;
  }

  function queue(state, name) {
    let found = state.queues.get(name);
    if (!found) {
      found = {
        name, ready: [], processing: new Map(), dirty: new Set(), delayed: new Map(),
        failures: new Map(), adds: 0, mergedReady: 0, mergedProcessing: 0,
      };
      state.queues.set(name, found);
    }
    return found;
  }

  /* A worker is a thread for a queue: threads of two queues may have the same name. */
  const workerId = (line) => `${line.thread}@${line.of}`;

  function worker(state, line) {
    const id = workerId(line);
    let found = state.workers.get(id);
    if (!found) {
      found = { id, thread: line.thread, queue: line.of, key: "", state: "idle", since: 0, error: "" };
      state.workers.set(id, found);
    }
    return found;
  }

  const plain = (name) => (name || "").replace(/ reflector$/, "");
  const without = (list, item) => list.filter((other) => other !== item);

  function makeReady(q, key) {
    if (!q.ready.includes(key)) q.ready.push(key);
  }

  function delay(q, line, failures) {
    if (line.delay > 0) {
      q.delayed.set(line.key, { due: line.at + line.delay, delay: line.delay, failures });
    }
    if (failures) q.failures.set(line.key, { count: failures, delay: line.delay });
  }

  function notDelayedAnyMore(q, line) {
    const waiting = q.delayed.get(line.key);
    if (waiting && line.at >= waiting.due - 0.005) q.delayed.delete(line.key);
  }

  /* Where a request or an event comes from. */
  function placeOf(state, line) {
    if (state.workers.has(workerId(line))) return "worker:" + workerId(line);
    if (state.readers.has(line.thread)) return "reflector:" + state.readers.get(line.thread);
    return state.threads.get(line.thread) || "";
  }

  const isListing = (one) => one.state.startsWith("listing");

  function reads(state, line) {
    const one = informer(state, plain(line.of));
    state.readers.set(line.thread, one.name);
    return one;
  }

  /* What follows the edits of one object, until they have all come to an end. */
  function count(state, line, what) {
    const c = state.counted;
    if (c && !c.over && line.key === c.key) c[what] += 1;
  }

  function countAdd(state, line, q) {
    const isProcessed = line.outcome === "while_processing" || q.processing.has(line.key);
    const isMerged = line.outcome && line.outcome !== "new";
    if (isMerged) q[isProcessed ? "mergedProcessing" : "mergedReady"] += 1;
    count(state, line, "adds");
    count(state, line, !isMerged ? "fresh" : isProcessed ? "processing" : "ready");
  }

  const steps = {
    "request.sent"(state, line) {
      state.server.requests += 1;
      const one = state.informers.get(plain(line.of));
      if (one && !state.workers.has(workerId(line))) {
        reads(state, line);
        // A streamed list is a watch that begins with all objects.
        line.lists = /sendInitialEvents=true/.test(line.path) || !/watch=true|continue=/.test(line.path);
        if (line.lists) {
          line.again = one.lists > 0;
          one.lists += 1;
          one.state = line.again ? "listing again" : "listing";
        }
      }
      const from = placeOf(state, line);
      return from ? [{ from, to: "server", kind: "request", key: line.key,
        label: Study.words.request(line) }] : [];
    },
    "request.answered"(state, line) {
      const failed = line.status >= 400 || !line.status;
      if (line.status >= 400) {
        state.server.failed += 1;
        state.server.lastFailure = String(line.status);
      }
      const one = state.informers.get(plain(line.of));
      if (!line.status && one && !state.workers.has(workerId(line))) one.state = "no connection";
      const to = placeOf(state, line);
      const label = line.status ? String(line.status) : "no connection";
      const kind = failed ? "refusal" : "answer";
      return to ? [{ from: "server", to, kind, key: line.key, label }] : [];
    },
    "list.page"(state, line) {
      const one = reads(state, line);
      if (!isListing(one)) one.state = "listing";
      one.reason = "";
      if (line.version) one.version = line.version;
      return [{ from: "server", to: "reflector:" + one.name, kind: "page",
        label: line.count === 1 ? "1 object" : (line.count || 0) + " objects" }];
    },
    "watch.opened"(state, line) {
      const one = reads(state, line);
      if (!isListing(one)) one.state = "watching";
      one.reason = "";
      if (line.version) one.version = line.version;
      return [];
    },
    "watch.event"(state, line) {
      const one = reads(state, line);
      if (line.type === "ERROR") line.since = one.version;
      else if (line.type !== "ADDED" || !isListing(one)) one.state = "watching";
      if (line.type === "BOOKMARK") one.bookmarks += 1;
      else one.events += 1;
      count(state, line, "events");
      if (line.version) one.version = line.version;
      const to = "reflector:" + one.name;
      if (line.type === "ERROR") {
        const label = line.status ? Study.words.status(line.status) : line.type;
        return [{ from: "server", to, kind: "refusal", label }];
      }
      if (!line.key) return [];
      return [{ from: "server", to, kind: "event", key: line.key,
        label: line.type }];
    },
    "watch.ended"(state, line) {
      const one = reads(state, line);
      line.since = one.version;
      one.state = "watch ended";
      one.reason = Study.words.isTooOld(line.reason) ? "410 Gone" : line.reason || "";
      return [];
    },
    "fifo.append"(state, line) {
      const one = informer(state, plain(line.of));
      const entry = one.fifo.get(line.key) || { deltas: [], version: "" };
      entry.deltas.push(line.delta || "");
      entry.version = line.version || entry.version;
      one.fifo.set(line.key, entry);
      return [{ from: "reflector:" + one.name, to: "fifo:" + one.name, key: line.key,
        kind: "resident" }];
    },
    "fifo.pop"(state, line) {
      const one = informer(state, plain(line.of));
      one.fifo.delete(line.key);
      return [{ from: "fifo:" + one.name, to: "index:" + one.name, kind: "event", key: line.key }];
    },
    "index.update"(state, line) {
      const one = informer(state, plain(line.of));
      if (line.action === "delete") one.cache.delete(line.key);
      else {
        one.cache.delete(line.key); // the last changed is shown first
        one.cache.set(line.key, { version: line.version || "" });
      }
      return [{ from: "fifo:" + one.name, to: "index:" + one.name, kind: "resident", key: line.key }];
    },
    "cache.get"(state, line) {
      const to = placeOf(state, line);
      return to ? [{ from: "index:" + informer(state, plain(line.of)).name, to, kind: "read",
        key: line.key, label: line.missing ? "not there" : "v" + line.version }] : [];
    },
    "handler.call"(state, line) {
      const one = informer(state, plain(line.of));
      const name = line.handler || "handler";
      const calls = one.handlers.get(name) || { add: 0, update: 0, delete: 0, last: "" };
      if (line.event in calls) calls[line.event] += 1;
      calls.last = line.key;
      one.handlers.set(name, calls);
      return [{ from: "index:" + one.name, to: "handlers:" + one.name, kind: "event",
        key: line.key, label: line.event }];
    },
    "queue.add"(state, line) {
      const q = queue(state, line.of);
      notDelayedAnyMore(q, line);
      q.adds += 1;
      const from = state.threads.get(line.thread) || "queue:" + q.name;
      countAdd(state, line, q);
      if (line.outcome === "while_processing") q.dirty.add(line.key);
      else if (line.outcome !== "known") makeReady(q, line.key);
      const resident = line.outcome === "new" || !line.outcome;
      return [{ from, to: "queue:" + q.name, key: line.key, kind: resident ? "resident" : "merged" }];
    },
    "queue.add_after"(state, line) {
      const q = queue(state, line.of);
      delay(q, line, 0);
      const from = state.threads.get(line.thread) || "queue:" + q.name;
      return [{ from, to: "queue:" + q.name, key: line.key, kind: "resident" }];
    },
    "queue.add_rate_limited"(state, line) {
      const q = queue(state, line.of);
      delay(q, line, line.failures || 1);
      const from = state.threads.get(line.thread) || "queue:" + q.name;
      return [{ from, to: "queue:" + q.name, key: line.key, kind: "resident" }];
    },
    "queue.forget"(state, line) {
      queue(state, line.of).failures.delete(line.key);
      return [];
    },
    "queue.get"(state, line) {
      const q = queue(state, line.of);
      q.ready = without(q.ready, line.key);
      q.processing.set(line.key, line.thread);
      const w = worker(state, line);
      w.key = line.key;
      w.state = "took it";
      w.since = line.at;
      return [{ from: "queue:" + q.name, to: "worker:" + w.id, key: line.key,
        kind: "resident" }];
    },
    "queue.done"(state, line) {
      const q = queue(state, line.of);
      q.processing.delete(line.key);
      q.dirty.delete(line.key);
      if (line.again) makeReady(q, line.key);
      const w = worker(state, line);
      w.key = "";
      w.state = "idle";
      const c = state.counted;
      if (c && line.key === c.key && !line.again && c.adds >= c.edits) c.over = true;
      return [];
    },
    "sync.start"(state, line) {
      const w = worker(state, line);
      w.key = line.key || w.key;
      w.state = "syncing";
      w.since = line.at;
      w.error = "";
      count(state, line, "syncs");
      return [];
    },
    "sync.end"(state, line) {
      const w = worker(state, line);
      w.state = line.error ? "sync failed" : "synced";
      w.error = line.error || "";
      if (line.error) count(state, line, "failed");
      return [];
    },
    "event.recorded"(state, line) {
      const from = placeOf(state, line);
      return from ? [{ from, to: "server", kind: "request", label: "event" }] : [];
    },
    "study.target"(state, line) {
      for (const name of line.informers || []) informer(state, name);
      return [];
    },
    "study.object"(state, line) {
      const id = line.resource + " " + line.key;
      const deleted = line.type === "DELETED";
      if (deleted) state.server.objects.delete(id);
      else {
        const { resource, key, version } = line;
        state.server.objects.set(id, { resource, key, version });
      }
      return [{ from: "", to: "server", kind: deleted ? "gone" : "resident", key: line.key }];
    },
    "study.held"(state, line) {
      state.held.set(line.number, {
        number: line.number, thread: line.thread, boundary: line.boundary, of: plain(line.of),
        key: line.key, at: line.at,
      });
      if (line.boundary === "watch.read") reads(state, line);
      else if (line.boundary === "queue.take") {
        queue(state, line.of);
        worker(state, line);
      } else if (line.boundary === "sync") worker(state, line);
      return [];
    },
    "study.released"(state, line) {
      state.held.delete(line.number);
      return [];
    },
    "study.pace"(state, line) {
      state.pace = line.mode;
      return [];
    },
    "study.action"(state, line) {
      for (const fault of line.lifted || []) state.server.faults.delete(fault);
      if (line.fault) state.server.faults.set(line.fault, line.shown || line.fault);
      state.counted = !line.edits ? null : { key: line.key, edits: line.edits, events: 0, adds: 0,
        fresh: 0, ready: 0, processing: 0, syncs: 0, failed: 0, over: false };
      return [];
    },
    "study.healed"(state, line) {
      for (const fault of line.lifted || []) state.server.faults.delete(fault);
      return [];
    },
  };

  const STATION = {
    "watch.event": "reflector", "list.page": "reflector", "fifo.append": "fifo",
    "fifo.pop": "fifo", "index.update": "index", "handler.call": "handlers",
  };

  function apply(state, line) {
    state.at = Math.max(state.at, line.at || 0);
    state.count += 1;
    state.last = line;
    if (line.key && !state.colours.has(line.key)) {
      state.colours.set(line.key, state.colours.size % 8);
    }
    const step = steps[line.hop];
    const moves = step ? step(state, line) : [];
    if (STATION[line.hop]) {
      state.threads.set(line.thread, STATION[line.hop] + ":" + plain(line.of));
    } else if (line.hop === "queue.get" || line.hop === "sync.start") {
      state.threads.set(line.thread, "worker:" + workerId(line));
    }
    return moves;
  }

  return { initial, apply, plain };
})();
