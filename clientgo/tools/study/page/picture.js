"use strict";
/* The loop as a picture: stations, arrows, and a pill for each key where it is. */

var Study = globalThis.Study || (globalThis.Study = {});

Study.picture = (svg, { onExplain, onSelect }) => {
  const { PARTS, SECTIONS, BOUNDARIES, seconds, short } = Study.words;
  const NS = "http://www.w3.org/2000/svg";
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const ruler = document.createElement("canvas").getContext("2d");
  const family = getComputedStyle(document.body).fontFamily;
  let layout = null, drawn = null, signature = "", selected = "", pointed = "";
  const stations = new Map(); // place -> {group, lines, tag}
  const tokens = new Map(); // id -> {group, pill, spec}
  const layers = {};

  function make(name, attributes = {}, parent = null, text = "") {
    const element = document.createElementNS(NS, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text) element.textContent = text;
    if (parent) parent.append(element);
    return element;
  }

  const fitted = new Map();
  function fit(text, width, font = "600 11px") {
    const id = `${font} ${Math.round(width)} ${text}`;
    if (fitted.size > 2000) fitted.clear();
    if (!fitted.has(id)) fitted.set(id, cutTo(text, width, font));
    return fitted.get(id);
  }

  function cutTo(text, width, font) {
    ruler.font = `${font} ${family}`;
    if (ruler.measureText(text).width <= width) return text;
    let cut = text;
    while (cut.length > 1 && ruler.measureText(cut + "…").width > width) cut = cut.slice(0, -1);
    return cut + "…";
  }

  /* -- what stays: lanes, arrows, stations ---------------------------------------------------- */

  function drawStations(state) {
    svg.setAttribute("viewBox", `-1 -1 ${layout.W + 2} ${layout.H + 2}`);
    svg.classList.toggle("narrow", layout.narrow);
    for (const name of ["lanes", "arrows", "stations", "tokens", "comets"]) {
      if (!layers[name]) layers[name] = make("g", { class: name }, svg);
      if (name !== "tokens" && name !== "comets") layers[name].replaceChildren();
    }
    stations.clear();
    for (const lane of layout.lanes) {
      make("rect", { x: lane.x, y: lane.y, width: lane.w, height: lane.h, rx: 12 }, layers.lanes);
      const label = make("text", { x: lane.x + 12, y: lane.y + 16 }, layers.lanes);
      make("tspan", {}, label, "informer ");
      make("tspan", { class: "name" }, label, fit(lane.name.replace(/^informer-/, ""), lane.w - 82, "600 12px"));
    }
    for (const arrow of layout.arrows) drawArrow(arrow);
    for (const [place, area] of layout.places) {
      const [kind, ...rest] = place.split(":");
      drawStation(place, kind, rest.join(":"), area);
    }
    if (!state.queues.size) stations.get("queue:work queue")?.group.classList.add("unused");
  }

  function drawArrow({ points, label, at, dashed }) {
    const path = points.map(([x, y], i) => `${i ? "L" : "M"}${x},${y}`).join("");
    make("path", { d: path, class: dashed ? "dashed" : "", "marker-end": "url(#tip)" }, layers.arrows);
    if (label) make("text", { x: at[0], y: at[1], "text-anchor": "middle" }, layers.arrows, label);
  }

  function drawStation(place, kind, name, area) {
    const isSection = kind in SECTIONS;
    const part = kind === "workers" ? "worker" : kind;
    const group = make("g", { class: `station ${kind}`, "data-place": place }, layers.stations);
    make("rect", { x: area.x, y: area.y, width: area.w, height: area.h,
      rx: isSection ? 8 : 10 }, group);
    const [title] = SECTIONS[kind] || PARTS[part];
    const texts = [];
    if (kind !== "worker") {
      const shown = kind === "queue" && name !== "work queue" ? `${title} ${name}` : title;
      make("text", { class: "title", x: area.x + (isSection ? 8 : 10), y: area.y + (isSection ? 15 : 17) },
        group, fit(shown, area.w - 18, isSection ? "600 10.5px" : "600 12.5px"));
    }
    const tag = make("text", { class: "tag", x: area.x + area.w - 9, y: area.y + 16,
      "text-anchor": "end" }, group);
    if (kind !== "workers") {
      group.setAttribute("tabindex", "0");
      group.setAttribute("role", "img");
    }
    const explain = () => onExplain(kind, name);
    for (const when of ["pointerenter", "focus", "click"]) group.addEventListener(when, explain);
    stations.set(place, { group, area, kind, name, texts, tag, title });
  }

  /* Lines of text below the title of a station; their elements are kept. */
  function write(place, lines) {
    const station = stations.get(place);
    if (!station) return;
    lines.forEach(({ text, dot = "", x = 10, y, room = 8 }, i) => {
      let line = station.texts[i];
      if (!line) line = station.texts[i] = make("text", { class: "fact" }, station.group);
      line.setAttribute("x", station.area.x + x);
      line.setAttribute("y", station.area.y + y);
      line.setAttribute("class", "fact " + dot);
      const shown = fit(text, station.area.w - x - room, "400 11px");
      if (line.textContent !== shown) line.textContent = shown;
    });
    station.texts.slice(lines.length).forEach((line) => { line.textContent = ""; });
    const words = lines.map((line) => line.text).filter(Boolean).join(", ");
    const of = station.kind in PARTS && station.name ? " " + station.name : "";
    station.group.setAttribute("aria-label", `${station.title}${of}: ${words || "empty"}`);
  }

  const DOTS = { watching: "good", listing: "busy", "listing again": "busy", starting: "busy",
    "watch ended": "bad", "no connection": "bad" };

  function writeFacts(state) {
    for (const one of state.informers.values()) {
      write("reflector:" + one.name, [
        { text: "● " + one.state, dot: DOTS[one.state] || "", y: 38 },
        { text: one.version ? "at version " + one.version : "no version yet", y: 55 },
        { text: one.state === "watch ended" && one.reason ? one.reason
          : one.events + (one.events === 1 ? " event" : " events"), y: layout.narrow ? 70 : 72 },
      ].slice(0, layout.compact && !layout.narrow ? 2 : 3));
      const many = (map) => (map.size ? map.size + (map.size === 1 ? " object" : " objects") : "empty");
      label("fifo:" + one.name, one.fifo.size ? String(one.fifo.size) : "");
      label("index:" + one.name, one.cache.size ? String(one.cache.size) : "");
      stations.get("index:" + one.name)?.group.setAttribute("aria-label",
        `Indexer ${one.name}: ${many(one.cache)}`);
      stations.get("fifo:" + one.name)?.group.setAttribute("aria-label",
        `DeltaFIFO ${one.name}: ${many(one.fifo)}`);
      const sum = { add: 0, update: 0, delete: 0 };
      for (const calls of one.handlers.values()) for (const name in sum) sum[name] += calls[name];
      write("handlers:" + one.name, layout.compact
        ? [{ text: `${sum.add} add, ${sum.update} upd, ${sum.delete} del`, y: 40 }]
        : [{ text: `${sum.add} × add`, y: 38 }, { text: `${sum.update} × update`, y: 55 },
          { text: `${sum.delete} × delete`, y: 72 }]);
    }
    for (const q of state.queues.values()) {
      label("queue:" + q.name, q.adds ? `${q.adds} adds; merged: ${q.mergedReady} ready, `
        + `${q.mergedProcessing} processed` : "");
      for (const section of Study.layout.SECTIONS) {
        const held = section === "ready" ? q.ready.length : q[section].size;
        stations.get(`${section}:${q.name}`)?.group.setAttribute("aria-label",
          `${SECTIONS[section][0]}: ${held || "none"}`);
      }
    }
    const heldBy = new Map([...state.held.values()].map((held) => [`${held.thread}@${held.of}`, held]));
    for (const w of state.workers.values()) {
      const held = heldBy.get(w.id);
      const place = "worker:" + w.id, station = stations.get(place);
      const text = held ? "held" : w.state;
      const dot = held ? "held" : w.state === "sync failed" ? "bad" : w.state === "syncing" ? "busy" : "";
      label(place, text);
      station?.tag.setAttribute("class", "tag fact " + dot);
      ruler.font = `400 10.5px ${family}`;
      write(place, [{ text: w.thread, x: 8, y: 16, room: ruler.measureText(text).width + 14 }]);
      station?.group.setAttribute("aria-label", `${w.thread}: ${text} ${w.key}`);
    }
    label("workers", "");
    const faults = [...state.server.faults.values()];
    const station = stations.get("server");
    station.group.classList.toggle("broken", faults.length > 0);
    const { requests, failed, lastFailure } = state.server;
    const refused = failed ? `${failed} refused, last ${lastFailure}` : "";
    const broken = faults.length ? "⚠ " + faults.join(", ") : "";
    const [first, ...others] = faults;
    const second = others.length ? `⚠ ${others.join(", ")}` : refused;
    write("server", layout.narrow
      ? [{ text: [broken || `${requests} requests`, refused].filter(Boolean).join(" · "),
        dot: broken ? "bad" : "", y: 36 }]
      : [{ text: first ? `⚠ ${first}` : `${requests} requests`, dot: first ? "bad" : "", y: 38 },
        { text: second, dot: others.length ? "bad" : "", y: 55 }]);
  }

  function label(place, text) {
    const station = stations.get(place);
    if (station && station.tag.textContent !== text) station.tag.textContent = text;
  }

  function markHeld(state) {
    const where = new Map();
    for (const held of state.held.values()) {
      const place = { "watch.read": `reflector:${held.of}`, "fifo.take": `fifo:${held.of}` }[held.boundary]
        || `worker:${held.thread}@${held.of}`;
      where.set(place, held);
    }
    for (const [place, station] of stations) {
      const held = where.get(place);
      station.group.classList.toggle("held", Boolean(held));
      if (held && station.kind !== "worker") label(place, "held");
      else if (station.kind === "reflector") label(place, "");
    }
  }

  /* -- what moves: a pill for each key where it is ------------------------------------------- */

  function pills(state) {
    const found = [];
    const put = (place, items, options, style) => {
      const area = layout.places.get(place);
      if (!area || !items.length) return;
      const places = Study.layout.slots(area, items.length, options);
      items = withChosenFirst(items, places);
      places.forEach((slot, i) => {
        if (slot.more) found.push({ id: "more " + place, slot, style: "more", text: `+${slot.more} more` });
        else found.push({ place, slot, style, ...items[i] });
      });
    };
    serverPills(state, found);
    for (const one of state.informers.values()) {
      put("fifo:" + one.name, [...one.fifo].map(([key, entry]) => ({
        id: `fifo ${one.name} ${key}`, key, text: short(key),
        badge: entry.deltas.length > 1 ? "×" + entry.deltas.length : "",
        more: `${entry.deltas.length} deltas: ${entry.deltas.join(", ")}`,
      })), { pill: 200 }, "solid");
      put("index:" + one.name, [...one.cache].reverse().map(([key, entry]) => ({
        id: `index ${one.name} ${key}`, key, text: short(key), badge: entry.version ? "v" + entry.version : "",
        more: "in the cache at version " + entry.version,
      })), { pill: 200 }, "cached");
    }
    const inner = { top: 20, pill: 118, pad: 7 };
    for (const q of state.queues.values()) {
      const item = (key, rest) => ({ id: `q ${q.name} ${key}`, key, text: short(key), ...rest });
      put("ready:" + q.name, q.ready.map((key) => item(key, { more: "waits for a worker" })), inner, "solid");
      put("processing:" + q.name, [...q.processing].map(([key, thread]) =>
        item(key, { more: "taken by " + thread })), inner, "solid");
      put("dirty:" + q.name, [...q.dirty].map((key) =>
        item(key, { id: `dirty ${q.name} ${key}`, more: "comes out again after done" })), inner, "ghost");
      put("delayed:" + q.name, [...q.delayed].map(([key, entry]) =>
        item(key, { id: q.ready.includes(key) || q.processing.has(key)
          ? `later ${q.name} ${key}` : `q ${q.name} ${key}`, due: entry.due, badge: seconds(entry.due - state.at),
          more: `added with a delay of ${seconds(entry.delay)}` })), inner, "delayed");
      put("failures:" + q.name, [...q.failures].map(([key, entry]) =>
        item(key, { id: `failed ${q.name} ${key}`, badge: `×${entry.count}`,
          more: `${entry.count} failures in a row, last back-off ${seconds(entry.delay)}` })), inner, "failure");
    }
    for (const w of state.workers.values()) {
      const area = layout.places.get("worker:" + w.id);
      if (!area || !w.key) continue;
      const slot = { x: area.x + 6, y: area.y + 22, w: Math.min(area.w - 12, 150), h: 19 };
      found.push({ id: `w ${w.id} ${w.key}`, key: w.key, text: short(w.key), slot, style: "solid",
        more: `${w.thread} ${w.state}`, place: "worker:" + w.id });
    }
    return found;
  }

  /* If there is no room for all, the chosen key has a place, and the one that is pointed at. */
  function withChosenFirst(items, places) {
    const chosen = items.find((item) => item.id === pointed) || items.find((item) => item.key === selected);
    if (!chosen || items.length <= places.length) return items;
    return [chosen, ...items.filter((item) => item !== chosen)];
  }

  function serverPills(state, found) {
    const area = layout.places.get("server");
    const groups = new Map();
    for (const one of state.server.objects.values()) {
      if (!groups.has(one.resource)) groups.set(one.resource, []);
      groups.get(one.resource).push(one);
    }
    const names = [...groups.keys()];
    const top = layout.narrow ? 54 : 74, columns = layout.narrow ? Math.min(names.length, 2) : 1;
    let y = area.y + top;
    const share = (area.h - top) / Math.max(Math.ceil(names.length / columns), 1);
    names.forEach((name, i) => {
      const x = area.x + ((i % columns) * area.w) / columns;
      const w = area.w / columns, h = share - (layout.narrow && names.length > 2 ? 12 : 0);
      const places = Study.layout.slots({ x, y, w, h }, groups.get(name).length,
        { top: 8, pill: 200 });
      const items = withChosenFirst(groups.get(name), places);
      found.push({ id: "group " + name, style: "group", text: name,
        slot: { x: x + 9, y: y - 10, w: w - 12, h: 14 } });
      places.forEach((slot, i) => {
        const one = items[i];
        if (slot.more) found.push({ id: "more server " + name, slot, style: "more", text: `+${slot.more} more` });
        else found.push({ id: `server ${name} ${one.key}`, key: one.key, text: short(one.key), slot,
          badge: "v" + one.version, style: "stored", more: `${name}, version ${one.version}`,
          place: "server" });
      });
      if (layout.narrow) y += i % columns === columns - 1 ? share : 0;
      else y += Math.min(share, 18 + 24 * Math.min(places.length, items.length));
    });
  }

  function drawPill(spec) {
    const { w, h } = spec.slot;
    const group = make("g", { class: "pill " + spec.style });
    make("title", {}, group);
    if (spec.style === "group" || spec.style === "more") {
      make("text", { class: "text", x: 2, y: h / 2 + 4 }, group);
      return group;
    }
    make("rect", { width: w, height: h, rx: h / 2 }, group);
    make("text", { class: "text", x: 9, y: h / 2 + 3.8 }, group);
    make("text", { class: "badge", x: w - 8, y: h / 2 + 3.8, "text-anchor": "end" }, group);
    group.setAttribute("tabindex", "0");
    group.setAttribute("role", "button");
    const choose = (event) => {
      event.stopPropagation();
      onSelect(spec.key);
    };
    group.addEventListener("click", choose);
    group.addEventListener("keydown", (event) => {
      if (event.key === "Enter") choose(event);
    });
    return group;
  }

  function update(token, spec, colour) {
    const { group } = token;
    const marks = (spec.key && spec.key === selected ? " selected" : "") + (spec.id === pointed ? " pointed" : "");
    group.setAttribute("class", `pill ${spec.style}${marks}`);
    if (colour !== undefined) group.style.setProperty("--key", `var(--key-${colour})`);
    group.style.transform = `translate(${spec.slot.x}px, ${spec.slot.y}px)`;
    const rect = group.querySelector("rect");
    if (rect) rect.setAttribute("width", spec.slot.w);
    writePill(group, spec);
    const told = spec.key ? `${spec.key}: ${spec.more || ""}` : spec.text;
    group.querySelector("title").textContent = told;
    if (spec.key) group.setAttribute("aria-label", told);
    token.spec = spec;
  }

  function writePill(group, spec) {
    const badge = group.querySelector(".badge"), text = group.querySelector(".text");
    let room = spec.slot.w - 18;
    if (badge) {
      badge.textContent = spec.badge || "";
      badge.setAttribute("x", spec.slot.w - 8);
      if (spec.badge) {
        ruler.font = `500 10px ${family}`;
        room -= ruler.measureText(spec.badge).width + 5;
      }
    }
    text.textContent = fit(spec.text, room);
  }

  function drawPills(state, moves, quick) {
    const specs = pills(state), wanted = new Set(specs.map((spec) => spec.id));
    const origin = originOf(moves);
    for (const spec of specs) {
      let token = tokens.get(spec.id);
      const colour = spec.key ? state.colours.get(spec.key) : undefined;
      if (!token) {
        token = { group: drawPill(spec) };
        tokens.set(spec.id, token);
        layers.tokens.append(token.group);
        const from = !quick && !still.matches && origin(spec);
        if (from) {
          update(token, spec, colour);
          token.group.style.transition = "none";
          token.group.style.transform = `translate(${from.x}px, ${from.y}px)`;
          token.group.getBoundingClientRect(); // the transition begins here
          token.group.style.transition = "";
        }
      }
      update(token, spec, colour);
    }
    for (const [id, token] of tokens) {
      if (!wanted.has(id)) {
        tokens.delete(id);
        leave(token.group, quick);
      }
    }
  }

  function leave(group, quick) {
    if (quick || still.matches) {
      group.remove();
      return;
    }
    group.classList.add("leaving");
    group.removeAttribute("tabindex");
    setTimeout(() => group.remove(), 260);
  }

  const centre = (area) => ({ x: area.x + area.w / 2, y: area.y + area.h / 2 });

  /* Where a new pill comes from: the pill of its key there, or the middle of the station. */
  function originOf(moves) {
    return (spec) => {
      if (!spec.key) return null;
      const move = moves.find((one) => one.key === spec.key && one.kind === "resident");
      if (!move) return null;
      const [kind, ...rest] = move.from.split(":");
      const beside = tokens.get(`${kind === "queue" ? "q" : kind} ${rest.join(":")} ${spec.key}`);
      if (beside?.spec) return beside.spec.slot;
      const area = layout.places.get(move.from);
      return area ? { x: centre(area).x - spec.slot.w / 2, y: centre(area).y - 10 } : null;
    };
  }

  /* A move of something that stays nowhere: an event, a request, an answer. */
  function fly(state, move, duration) {
    const from = layout.places.get(move.from), to = layout.places.get(move.to);
    if (!from || !to || still.matches || document.hidden) return;
    const words = move.label || short(move.key);
    ruler.font = `600 10.5px ${family}`;
    const w = Math.min(ruler.measureText(words).width + 16, 120);
    const group = make("g", { class: "comet " + move.kind }, layers.comets);
    const colour = move.key && state.colours.get(move.key);
    if (colour !== undefined) group.style.setProperty("--key", `var(--key-${colour})`);
    make("rect", { x: -w / 2, y: -9, width: w, height: 18, rx: 9 }, group);
    make("text", { y: 3.6, "text-anchor": "middle" }, group, fit(words, w - 12, "600 10.5px"));
    const [start, end] = edges(from, to);
    const at = (p) => `translate(${p.x}px, ${p.y}px)`;
    const flight = group.animate([
      { transform: at(start), opacity: 0 }, { transform: at(start), opacity: 1, offset: 0.1 },
      { transform: at(end), opacity: 1, offset: 0.85 }, { transform: at(end), opacity: 0 },
    ], { duration, easing: "ease-in-out", fill: "forwards" });
    const remove = () => group.remove();
    flight.onfinish = remove;
    flight.oncancel = remove;
    if (layers.comets.childElementCount > 24) layers.comets.firstElementChild.remove();
  }

  /* From the edge of one box to the edge of another, at the height of the smaller one. */
  function edges(from, to) {
    const small = from.h < to.h ? from : to;
    const a = centre(from), b = centre(to);
    const level = centre(small).y;
    const overlapY = level > Math.max(from.y, to.y) && level < Math.min(from.y + from.h, to.y + to.h);
    if (overlapY) {
      const right = a.x < b.x;
      return [{ x: right ? from.x + from.w - 30 : from.x + 30, y: level },
        { x: right ? to.x + 30 : to.x + to.w - 30, y: level }];
    }
    return [a, b];
  }

  /* -- drawing ------------------------------------------------------------------------------- */

  function isNarrow() {
    return svg.parentElement.clientWidth < 640;
  }

  /* Draw a state. `quick`: it is not the next one, so nothing moves. */
  function draw(state, moves = [], { quick = false, duration = 700 } = {}) {
    drawn = state;
    const next = JSON.stringify([isNarrow(), [...state.informers.keys()], [...state.queues.keys()],
      [...state.workers.keys()].sort(), isNarrow() ? Study.layout.resourcesOf(state) : []]);
    if (next !== signature) {
      signature = next;
      layout = Study.layout.of(state, isNarrow());
      drawStations(state);
    }
    writeFacts(state);
    markHeld(state);
    drawPills(state, moves, quick);
    if (!quick) {
      for (const move of moves) if (move.kind !== "resident") fly(state, move, duration);
    }
  }

  /* Show the time that is left of each delay. */
  function tick(now) {
    for (const { group, spec } of tokens.values()) {
      if (spec.due !== undefined) {
        spec.badge = seconds(Math.max(spec.due - now, 0));
        writePill(group, spec);
      }
    }
  }

  function select(key) {
    selected = key;
    if (drawn) draw(drawn, [], { quick: true });
    for (const { group, spec } of tokens.values()) {
      group.classList.toggle("selected", Boolean(key) && spec.key === key);
    }
  }

  /* Point at the pill of an id, or at none. */
  function point(id) {
    pointed = id;
    svg.classList.toggle("pointing", Boolean(id));
    if (drawn) draw(drawn, [], { quick: true });
  }

  return { draw, tick, select, point, explain: (kind) => SECTIONS[kind] || PARTS[kind === "workers" ? "worker" : kind],
    boundaries: BOUNDARIES };
};
