"use strict";
/* Connects the parts: the recording, the picture, the buttons, the keyboard. */

(() => {
  const { tell, counted, BOUNDARIES, short } = Study.words;
  const by = (id) => document.getElementById(id);
  const setup = JSON.parse(by("setup").textContent);
  let shown = null, busy = false, gone = "";

  const picture = Study.picture(by("picture"), { onExplain: explain, onSelect: select });
  const player = Study.player({ live: setup.live, onShow: show, onChange: refresh });
  const details = Study.details({ body: by("details"), title: by("details-title"),
    sources: player.sources, onJump: jump });
  const lesson = setup.lesson && Study.lesson({ player, picture, setup, post });

  /* -- what is shown -------------------------------------------------------------------------- */

  function show(state, moves, options) {
    shown = state;
    picture.draw(state, moves, options);
    const line = state.last;
    if (line && line.hop !== "study.source" && line.hop !== "study.released") by("caption").textContent = capital(tell(line));
    by("count").textContent = state.counted ? counted(state.counted) : "";
    drawDetails();
    drawHeld(state);
    lesson?.shown(moves);
  }

  let drawing = 0; // the details are drawn a few times per second, however many hops there are
  function drawDetails(soon = false) {
    if (!soon && !drawing) {
      drawing = setTimeout(() => {
        drawing = 0;
        drawDetails(true);
      }, 150);
    }
    if (shown && soon) details.draw(player.lines, player.position, shown.colours.get(details.key));
  }

  function select(key) {
    details.choose(key === details.key ? "" : key);
    picture.select(details.key);
    drawDetails(true);
    if (details.key && matchMedia("(max-width: 1099px)").matches) {
      by("side").scrollIntoView({ behavior: "smooth", block: "start" });
    }
  }

  function jump(to) {
    if (to === -1) select(details.key);
    details.again();
    drawDetails(true);
  }

  function explain(kind, name) {
    const found = picture.explain(kind);
    if (!found) return;
    const isPart = kind in Study.words.PARTS && kind !== "worker";
    explainAs(found[0] + (isPart && name && name !== "work queue" ? ` (${name})` : ""), found[1]);
  }

  function explainAs(title, text) {
    const head = document.createElement("b");
    head.textContent = title + ". ";
    by("explain").replaceChildren(head, text);
    by("explain").classList.add("filled");
  }

  /* A sentence begins with a capital letter, the name of a key does not. */
  const capital = (text) => (/^(the|an?|another|you|failure|no)\b/.test(text) ? text[0].toUpperCase() + text.slice(1) : text);

  /* The threads that wait, each a button that lets it pass one boundary. */
  function drawHeld(state) {
    const list = by("held");
    const held = [...state.held.values()];
    const text = JSON.stringify([held.map((one) => one.number), state.pace, player.following]);
    if (list.dataset.shown === text) return;
    list.dataset.shown = text;
    list.replaceChildren(...held.map((one) => {
      const button = document.createElement("button");
      button.className = "thread";
      button.textContent = one.thread;
      const where = document.createElement("small");
      where.textContent = (BOUNDARIES[one.boundary] || one.boundary) + (one.key ? ` (${short(one.key)})` : "");
      button.append(where);
      button.title = "let this thread pass one boundary";
      button.disabled = !setup.live || !player.following;
      button.addEventListener("click", () => post("step", { number: one.number }));
      return button;
    }));
    by("held-none").textContent = held.length ? "" : state.pace === "paused"
      ? "no thread has reached a boundary yet; change an object to see one" : "no thread";
  }

  /* -- the bar -------------------------------------------------------------------------------- */

  function refresh() {
    const pace = player.following ? player.latest.pace : "";
    const paused = player.following ? pace === "paused" : !player.playing;
    const isDead = Boolean(gone) && player.following;
    const pause = by("pause");
    pause.disabled = by("slow").disabled = isDead;
    pause.textContent = paused ? (player.following ? "Resume" : "Play") : "Pause";
    pause.classList.toggle("on", paused && player.following);
    pause.setAttribute("aria-pressed", String(paused));
    by("step").disabled = isDead || (player.following ? !paused : player.position >= player.lines.length);
    by("back").hidden = player.following;
    by("back").disabled = player.position === 0;
    by("slow").setAttribute("aria-pressed", String(player.following ? pace === "slow" : player.speed < 1));
    by("live").hidden = !setup.live || Boolean(gone);
    by("live").setAttribute("aria-pressed", String(player.following));
    const scrub = by("scrub");
    scrub.max = player.lines.length;
    scrub.value = player.position;
    const at = shown ? shown.at : 0;
    scrub.setAttribute("aria-valuetext", `hop ${player.position} of ${player.lines.length}, ${at.toFixed(1)} s`);
    by("place").textContent = `${at.toFixed(1)} s`;
    by("place").title = `hop ${player.position} of ${player.lines.length}`;
    document.body.dataset.pace = pace || "replay";
    const behind = player.lines.length - player.position;
    by("status").textContent = gone || (!setup.live ? "replay" : !player.following ? "looking back"
      : behind > 25 ? `catching up: ${behind} hops` : { paused: "paused", slow: "slow motion" }[pace] || "live");
    lesson?.changed();
  }

  async function post(path, body) {
    try {
      const answer = await fetch(path, { method: "POST", body: JSON.stringify(body || {}),
        headers: { "Content-Type": "application/json" } });
      const found = await answer.json();
      if (found.message) say(found.message, !answer.ok || found.refused);
      return answer.ok;
    } catch {
      say("the program does not answer", true);
      return false;
    }
  }

  let saying = 0;
  function say(text, isError = false) {
    const toast = by("toast");
    toast.textContent = text;
    toast.classList.toggle("error", isError);
    toast.title = text;
    clearTimeout(saying);
    saying = setTimeout(() => toast.replaceChildren(), isError ? 8000 : 4000);
  }

  const ACTIONS = {
    pause() {
      if (!player.following) player.playing ? player.pause() : player.play();
      else post("pace", { mode: player.latest.pace === "paused" ? "running" : "paused" });
    },
    step() { player.following ? post("step") : player.step(1); },
    back() { player.step(-1); },
    slow() {
      if (!player.following) player.setSpeed(player.speed < 1 ? 1 : 0.25);
      else post("pace", { mode: player.latest.pace === "slow" ? "running" : "slow" });
    },
    live() { player.following ? player.seek(player.position) : player.follow(); },
  };
  for (const [id, action] of Object.entries(ACTIONS)) by(id).addEventListener("click", action);
  by("look-back").addEventListener("click", lookBack);
  by("explain").addEventListener("click", () => by("explain").classList.remove("filled"));
  by("scrub").addEventListener("input", (event) => player.seek(Number(event.target.value)));

  const KEYS = { " ": "pause", ".": "step", n: "step", ",": "back", s: "slow", l: "live" };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && details.key) select(details.key);
    const isButton = event.target.closest("button, input, [role=button]");
    if (isButton && (event.key === " " || event.key === "Enter")) return;
    const action = KEYS[event.key];
    if (action && !by(action).disabled) {
      event.preventDefault();
      ACTIONS[action]();
    }
  });

  /* -- the buttons that act on the cluster ---------------------------------------------------- */

  function drawActions() {
    const groups = new Map();
    for (const action of setup.actions || []) {
      if (!groups.has(action.group)) groups.set(action.group, []);
      groups.get(action.group).push(action);
    }
    by("actions").hidden = !groups.size;
    for (const [name, actions] of groups) {
      const group = document.createElement("fieldset");
      const legend = document.createElement("legend");
      legend.textContent = name;
      group.append(legend);
      for (const action of actions) {
        const button = document.createElement("button");
        button.dataset.action = action.name;
        button.textContent = action.label;
        button.title = action.help;
        const explainIt = () => explainAs(action.label, action.help);
        button.addEventListener("pointerenter", explainIt);
        button.addEventListener("focus", explainIt);
        button.addEventListener("click", async () => {
          if (!player.following) player.follow();
          button.disabled = true;
          await post("act", { action: action.name, key: details.key });
          button.disabled = false;
        });
        group.append(button);
      }
      by("actions").append(group);
    }
  }

  /* -- where the lines come from -------------------------------------------------------------- */

  function connect() {
    const source = new EventSource("events");
    let waiting = [], isPast = true;
    const addWaiting = () => {
      busy = false;
      add(waiting, isPast);
      waiting = [];
    };
    source.onmessage = (message) => {
      waiting.push(JSON.parse(message.data));
      if (!busy && !isPast) {
        busy = true; // several messages of one part are added together
        setTimeout(addWaiting);
      }
    };
    source.addEventListener("now", () => {
      addWaiting();
      isPast = false;
    });
    const lost = (text) => {
      source.close();
      addWaiting();
      end(text);
    };
    source.addEventListener("end", () => lost("The program has ended"));
    source.onerror = () => lost("The program does not answer");
  }

  /* The program is gone: say so in the middle, and come back when it does. */
  function end(text) {
    gone = text[0].toLowerCase() + text.slice(1);
    by("gone-title").textContent = text + ".";
    by("gone-option").textContent = `--port ${location.port}`;
    by("gone").hidden = false;
    document.body.classList.add("gone");
    by("explain").classList.remove("filled");
    for (const button of document.querySelectorAll("#actions button")) button.disabled = true;
    for (const link of document.querySelectorAll("[data-live]")) link.hidden = true;
    refresh();
    setTimeout(lookForIt, 1000);
  }

  /* In a frame, because each request that fails is written to the console. */
  function lookForIt() {
    const frame = document.createElement("iframe");
    frame.hidden = true;
    frame.src = "alive";
    frame.onload = () => {
      const isThere = frame.contentDocument?.title === setup.title;
      frame.remove();
      if (isThere) location.reload();
      else setTimeout(lookForIt, 1000);
    };
    document.body.append(frame);
  }

  function lookBack() {
    by("gone").hidden = true;
    document.body.classList.remove("gone");
    player.seek(player.position);
  }

  const add = (lines, isPast) => (lesson ? lesson.feed(lines) : player.add(lines, isPast));

  function frame() {
    if (shown && !document.hidden) picture.tick(player.now());
    setTimeout(() => requestAnimationFrame(frame), 100);
  }

  document.title = setup.title;
  by("name").textContent = setup.subtitle;
  for (const link of document.querySelectorAll("[data-live]")) link.hidden = !setup.live;
  document.body.classList.toggle("replay", !setup.live);
  drawActions();
  show(Study.model.initial(), [], { quick: true });
  refresh();
  if (setup.live) connect();
  else {
    const recorded = by("recording");
    const ready = recorded ? Promise.resolve(recorded.textContent)
      : fetch("recording").then((answer) => answer.text());
    ready.then((text) => {
      add(text.split("\n").filter((line) => line.trim()).map((line) => JSON.parse(line)));
      // The state in which the user did the first thing.
      if (!lesson) player.seek(Math.max(player.lines.findIndex((line) => line.hop === "study.action"), 0));
    });
  }
  let width = 0;
  new ResizeObserver(([entry]) => {
    if (Math.abs(entry.contentRect.width - width) > 1 && shown) {
      width = entry.contentRect.width;
      picture.draw(shown, [], { quick: true });
    }
  }).observe(by("stage"));
  frame();
  Study.current = player;
})();
