"use strict";
/* Where each station of the picture is, for a wide page and for a narrow one. */

var Study = globalThis.Study || (globalThis.Study = {});

Study.layout = (() => {
  const TITLE = 24; // the height of a station's title
  const SECTIONS = ["processing", "ready", "dirty", "delayed", "failures"];

  const box = (x, y, w, h) => ({ x, y, w, h });

  /* The slots of a queue: two above, three below. */
  function sections(outer, name, places) {
    const pad = 10, gap = 8, top = outer.y + TITLE + 4;
    const inner = outer.w - 2 * pad, h = (outer.h - TITLE - 4 - gap - pad) / 2;
    const half = (inner - gap) / 2, third = (inner - 2 * gap) / 3;
    SECTIONS.forEach((section, i) => {
      const lower = i >= 2;
      const w = lower ? third : half;
      const x = outer.x + pad + (lower ? i - 2 : i) * (w + gap);
      places.set(`${section}:${name}`, box(x, top + (lower ? h + gap : 0), w, h));
    });
  }

  function workersIn(outer, threads, places) {
    threads.forEach((id, i) => {
      places.set("worker:" + id,
        box(outer.x + 8, outer.y + TITLE + 4 + i * 50, outer.w - 16, 45));
    });
  }

  const workersHeight = (threads) => TITLE + 8 + Math.max(threads.length, 2) * 50;

  function wide(names, queues, threads) {
    const places = new Map(), lanes = [], arrows = [];
    const W = 900, api = 136, x0 = 182, stationW = 158, gap = 22, laneGap = 12;
    const compact = names.length > 2, laneH = compact ? 114 : 136;
    let y = 0;
    for (const name of names) {
      lanes.push({ name, ...box(x0 - 12, y, W - x0 + 12, laneH) });
      ["reflector", "fifo", "index", "handlers"].forEach((kind, i) => {
        const station = box(x0 + i * (stationW + gap), y + 24, stationW, laneH - 34);
        places.set(`${kind}:${name}`, station);
        if (i) {
          const middle = station.y + station.h / 2;
          arrows.push({ points: [[station.x - gap, middle], [station.x, middle]] });
        }
      });
      const middle = y + 24 + (laneH - 34) / 2;
      arrows.push({ points: [[api, middle], [x0, middle]], label: "watch",
        at: [(api + x0 - 12) / 2, middle - 6] });
      y += laneH + laneGap;
    }
    const road = y + 8; // a free row between the lanes and the queue
    y += 30;
    const workersH = workersHeight(threads);
    const queueH = Math.max(196, (workersH - 12 * (queues.length - 1)) / queues.length);
    const queueX = x0 + stationW + gap + 12, queueW = W - queueX;
    queues.forEach((name, i) => {
      const outer = box(queueX, y + i * (queueH + 12), queueW, queueH);
      places.set("queue:" + name, outer);
      sections(outer, name, places);
    });
    const bottom = y + queues.length * (queueH + 12) - 12;
    const workers = box(x0 - 12, y, stationW + 12, Math.max(workersH, bottom - y));
    places.set("workers", workers);
    workersIn(workers, threads, places);
    const H = Math.max(bottom, workers.y + workers.h);
    places.set("server", box(0, 0, api, H));
    // From each lane: its keys go to the queue on the right, and workers read its cache.
    const keysX = x0 + 3 * (stationW + gap) + stationW + 10, to = workers.x + workers.w / 2;
    const cacheX = x0 + 2 * (stationW + gap) + stationW / 2, between = cacheX + (stationW + gap) / 2;
    lanes.forEach((lane, i) => {
      const isLast = i === lanes.length - 1, below = lane.y + laneH - 10;
      const centre = lane.y + 24 + (laneH - 34) / 2;
      arrows.push({ points: [[keysX - 10, centre], [keysX, centre], [keysX, y]],
        label: isLast ? "keys" : "", at: [keysX - 20, road + 6] });
      const down = isLast ? [] : [[cacheX, below + 5], [between, below + 5], [between, road]];
      arrows.push({ dashed: true, label: isLast ? "reads the cache" : "",
        at: [(cacheX + to) / 2, road - 4],
        points: [[cacheX, below], ...down, [isLast ? cacheX : between, road], [to, road], [to, y]] });
    });
    const middle = y + TITLE + 27;
    arrows.push({ points: [[queueX, middle], [workers.x + workers.w, middle]] });
    const write = workers.y + workers.h - 22;
    arrows.push({ points: [[workers.x, write], [api, write]], label: "writes",
      at: [(api + workers.x) / 2, write - 6] });
    return { W, H, places, lanes, arrows, compact, narrow: false };
  }

  function narrow(names, queues, threads, resources) {
    const places = new Map(), lanes = [], arrows = [];
    const W = 348, gap = 10, apiH = 64 + Math.max(Math.ceil(resources / 2), 1) * (resources > 2 ? 68 : 76);
    places.set("server", box(0, 0, W, apiH));
    const columns = names.length === 1 ? 1 : 2, laneW = (W - gap * (columns - 1)) / columns;
    const parts = [["reflector", 76], ["fifo", 88], ["index", 88], ["handlers", 62]];
    const laneH = 24 + parts.reduce((sum, [, h]) => sum + h, 0) + 3 * 12 + 8;
    let y = apiH + 26;
    names.forEach((name, i) => {
      const x = (i % columns) * (laneW + gap);
      const top = y + Math.floor(i / columns) * (laneH + gap);
      lanes.push({ name, ...box(x, top, laneW, laneH) });
      let at = top + 24;
      parts.forEach(([kind, h], number) => {
        places.set(`${kind}:${name}`, box(x + 8, at, laneW - 16, h));
        const middle = x + laneW / 2;
        if (number) arrows.push({ points: [[middle, at - 12], [middle, at]] });
        at += h + 12;
      });
      if (i < columns) {
        arrows.push({ points: [[x + laneW / 2, apiH], [x + laneW / 2, y]], label: "watch",
          at: [x + laneW / 2 + 24, apiH + 16] });
      }
    });
    y += Math.ceil(names.length / columns) * (laneH + gap) - gap;
    names.slice(-columns).forEach((_, i) => {
      const x = i * (laneW + gap) + laneW / 2;
      arrows.push({ points: [[x, y], [x, y + 26]], label: i ? "" : "keys", at: [x + 20, y + 17] });
    });
    const road = y + 7; // the reads of the left column cross below the lanes
    y += 26;
    for (const name of queues) {
      const outer = box(0, y, W, 200);
      places.set("queue:" + name, outer);
      sections(outer, name, places);
      y += 200 + gap;
    }
    y += 14;
    arrows.push({ points: [[W / 2, y - 24], [W / 2, y]] });
    const workers = box(0, y, W, workersHeight(threads));
    arrows.push({ points: [[0, y + 20], [-9, y + 20], [-9, 40], [0, 40]] });
    lanes.forEach((lane, i) => {
      const { y: top, h } = places.get("index:" + lane.name), at = top + h / 2;
      const end = [[W + 9, y + 20], [W, y + 20]];
      const isLeft = i % columns === 0 && columns > 1;
      arrows.push({ dashed: true, points: isLeft
        ? [[lane.x + 8, at], [lane.x + 3.5, at], [lane.x + 3.5, road], [W + 9, road], ...end]
        : [[lane.x + laneW - 8, at], [W + 9, at], ...end],
        label: i ? "" : "reads the cache", at: [W - 46, y + 14] });
    });
    places.set("workers", workers);
    workersIn(workers, threads, places);
    return { W, H: y + workers.h, places, lanes, arrows, compact: true, narrow: true };
  }

  /* The kinds of objects that the server is known to have. */
  function resourcesOf(state) {
    return [...new Set([...state.server.objects.values()].map((one) => one.resource))];
  }

  function of(state, isNarrow) {
    const names = [...state.informers.keys()];
    const queues = state.queues.size ? [...state.queues.keys()] : ["work queue"];
    const threads = state.workers.size ? [...state.workers.keys()].sort() : [];
    return (isNarrow ? narrow : wide)(names, queues, threads, resourcesOf(state).length);
  }

  /* The places of pills in a box, in rows; undefined for those that have no room. */
  function slots(area, count, { top = TITLE + 2, pill = 122, height = 20, pad = 8 } = {}) {
    const inner = area.w - 2 * pad;
    const perRow = Math.max(1, Math.floor((inner + 6) / (Math.min(pill, inner) + 6)));
    const width = (inner - 6 * (perRow - 1)) / perRow;
    const rows = Math.max(1, Math.floor((area.h - top - 4) / (height + 4)));
    const room = rows * perRow;
    const shown = count > room ? room - 1 : count; // the last place says how many more
    return Array.from({ length: Math.min(count, room) }, (_, i) => ({
      x: area.x + pad + (i % perRow) * (width + 6),
      y: area.y + top + Math.floor(i / perRow) * (height + 4),
      w: Math.min(width, pill), h: height, more: i >= shown ? count - shown : 0,
    }));
  }

  return { of, slots, resourcesOf, SECTIONS, TITLE };
})();
