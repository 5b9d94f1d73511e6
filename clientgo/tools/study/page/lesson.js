"use strict";
/* Plays a lesson: a sentence, the hops that it is about, and so on; at the moment that matters a
   question. The lines are a recording, or come from a controller that runs. */

var Study = globalThis.Study || (globalThis.Study = {});

Study.lesson = ({ player, picture, setup, post }) => {
  const MARK = "study.lesson";
  const OF_THE_SCRIPT = new Set(["study.held", "study.released", "study.pace"]);
  const SLOW = 0.25; // about 280 ms a hop
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const narrow = matchMedia("(max-width: 1099px)");
  const by = (id) => document.getElementById(id);
  const panel = by("lesson"), main = by("lesson-main");
  const answers = [...by("answers").children];
  const uncoloured = []; // names of objects that have no pill yet
  const waiting = []; // lines that the player does not have yet
  let phase = "loading", resting = 0, adding = false, focus = null;

  /* -- the lines ------------------------------------------------------------------------------ */

  function feed(lines) {
    const own = setup.lesson.run; // a live page has the lines of earlier runs too
    for (const line of lines) {
      if (line.hop === MARK && line.what === "run") {
        if (line.run === own) phase = "preparing";
        else if (phase !== "loading" && setup.live) {
          fail({ text: "another page has begun it" });
          return;
        }
      } else if (phase === "over") player.add([line]);
      else if (phase !== "loading" || /study\.(source|target)/.test(line.hop)) {
        if (!OF_THE_SCRIPT.has(line.hop)) waiting.push(line);
      }
    }
    if (phase === "preparing") prepare();
    else if (phase !== "loading") advance();
  }

  const isMark = (line) => line.hop === MARK;

  /* Show what there is when the lesson begins. */
  function prepare() {
    const begin = waiting.findIndex((line) => isMark(line) && line.what === "begin");
    if (begin < 0) {
      const failed = waiting.find((line) => isMark(line) && line.what === "failed");
      if (failed) fail(failed);
      return;
    }
    give(waiting.splice(0, begin + 1).filter((line) => !isMark(line)));
    player.seek(player.lines.length);
    by("caption").textContent = "Before the lesson begins: press Play";
    enter("ready");
  }

  function give(lines) {
    adding = true;
    player.add(lines);
    adding = false;
  }

  /* Go on, if everything that the player has is shown. */
  function advance(isStep = false) {
    if ((phase !== "playing" && !isStep) || resting || player.position < player.lines.length) return;
    if (!waiting.length) return;
    if (isMark(waiting[0])) {
      follow(waiting.shift());
      return;
    }
    const next = waiting.findIndex(isMark);
    give(waiting.splice(0, next < 0 ? waiting.length : next));
    if (isStep) player.step(1);
    else if (still.matches) player.seek(player.lines.length);
    else player.play();
  }

  function follow(mark) {
    if (mark.what === "say") say(mark);
    else if (mark.what === "ask") ask(mark);
    else if (mark.what === "end") end(mark);
    else if (mark.what === "failed") fail(mark);
  }

  /* -- the panel ------------------------------------------------------------------------------ */

  const LABELS = { loading: "Loading", preparing: "Loading", ready: "Play", playing: "Pause",
    paused: "Continue", reading: "Next", asking: "Choose an answer", over: "Play again" };

  function enter(next) {
    phase = next;
    document.body.dataset.lesson = next;
    main.textContent = LABELS[next];
    main.disabled = ["loading", "preparing", "asking"].includes(next);
    by("lesson-back").disabled = !["playing", "paused", "reading"].includes(next);
    by("lesson-step").disabled = by("lesson-back").disabled;
  }

  function say({ text, fast }) {
    const item = document.createElement("li");
    item.append(...named(text));
    by(answered() ? "told-after" : "told").append(item);
    colour();
    player.setSpeed(fast ? 1 : SLOW);
    reveal(item);
    if (still.matches && phase === "playing") enter("reading");
    else if (phase === "playing") rest(text);
  }

  /* The names of objects have the colours of their pills. */
  function named(text) {
    return text.split(/\b((?:foo|web)-\d+)\b/).map((part, i) => {
      if (i % 2 === 0) return part;
      const name = document.createElement("b");
      name.className = "name";
      name.textContent = part;
      uncoloured.push(name);
      return name;
    });
  }

  function colour() {
    const found = uncoloured.filter((name) => player.state.colours.has("default/" + name.textContent));
    for (const name of found) {
      const number = player.state.colours.get("default/" + name.textContent);
      name.style.setProperty("--key", `var(--key-${number})`);
      name.classList.add("known");
      uncoloured.splice(uncoloured.indexOf(name), 1);
    }
  }

  /* Leave time to read a text before anything moves. */
  function rest(text) {
    resting = setTimeout(goOn, 600 + 38 * text.length);
  }

  function goOn() {
    clearTimeout(resting);
    resting = 0;
    if (phase !== "playing") enter("playing");
    if (player.position >= player.lines.length) advance();
    else if (still.matches) player.seek(player.lines.length);
    else player.play();
  }

  const answered = () => panel.dataset.answered !== undefined;

  function ask({ pill }) {
    enter("asking");
    picture.point(pill);
    focus = document.querySelector(".pill.pointed");
    by("caption").textContent = "Look at the marked pill";
    by("question").focus({ preventScroll: true });
    reveal(by("asked"));
    look();
  }

  function answer(chosen) {
    if (phase !== "asking") return;
    panel.dataset.answered = chosen;
    answers.forEach((item, i) => {
      item.querySelector("button").disabled = true;
      item.classList.toggle("chosen", i === chosen);
      item.classList.toggle("right", item.dataset.right !== undefined);
    });
    const right = answers.findIndex((item) => item.dataset.right !== undefined);
    const reply = by("reply"), replies = [chosen === right ? "Yes. " : "No. "];
    reply.classList.toggle("good", chosen === right);
    replies.push(answers[chosen].dataset.reply);
    if (chosen !== right) replies.push(` The right answer is ${"ABC"[right]}. ${answers[right].dataset.reply}`);
    reply.replaceChildren(...named(replies.join("")));
    colour();
    reply.hidden = false;
    picture.point("");
    by("caption").textContent = "";
    focus = null;
    if (setup.live) post("lesson", { answered: true });
    enter(still.matches ? "reading" : "playing");
    main.focus({ preventScroll: true });
    reveal(reply);
    if (!still.matches) rest(reply.textContent);
  }

  function end({ counts }) {
    const rows = counts.map(([label, number]) => {
      const row = document.createElement("tr"), head = document.createElement("th");
      const cell = document.createElement("td");
      head.scope = "row";
      head.textContent = label;
      cell.textContent = number;
      row.append(head, cell);
      return row;
    });
    by("counts").tBodies[0].replaceChildren(...rows);
    enter("over");
    reveal(by("counted"));
    if (setup.live) {
      give(waiting.splice(0));
      player.follow();
    }
  }

  /* A live run that does not go on. */
  function fail({ text }) {
    by("caption").textContent = `The lesson can't go on: ${text}`;
    enter("over");
  }

  function reveal(element) {
    const box = by("lesson-text");
    const top = element.offsetTop - box.offsetTop - 8;
    const below = element.offsetTop + element.offsetHeight - box.offsetTop - box.clientHeight;
    const to = Math.min(top, Math.max(below + 8, box.scrollTop));
    box.scrollTo({ top: to, behavior: still.matches ? "auto" : "smooth" });
  }

  /* -- on a phone, the part of the picture where something happens is brought into view -------- */

  function shown(moves) {
    const last = moves.filter((move) => move.to).pop();
    if (last) focus = document.querySelector(`[data-place="${CSS.escape(last.to)}"]`);
    look();
    colour();
  }

  function look() {
    if (!narrow.matches || !focus?.isConnected || phase === "over") return;
    const area = focus.getBoundingClientRect();
    const top = document.querySelector("header").getBoundingClientRect().bottom;
    const bottom = panel.getBoundingClientRect().top;
    if (area.top >= top && Math.min(area.bottom, area.top + 120) <= bottom) return;
    const middle = area.top + Math.min(area.height, bottom - top) / 2;
    scrollBy({ top: middle - (top + bottom) / 2, behavior: still.matches ? "auto" : "smooth" });
  }

  /* -- buttons and keys ----------------------------------------------------------------------- */

  function changed() {
    if (adding || phase !== "playing" || player.playing || resting) return;
    if (player.position < player.lines.length) enter("paused"); // the slider was moved
    else setTimeout(advance);
  }

  function press() {
    if (phase === "over") location.reload();
    else if (phase === "playing" && resting) goOn();
    else if (phase === "playing") {
      enter("paused");
      player.pause();
    } else if (!main.disabled) goOn();
  }

  function pause() {
    clearTimeout(resting);
    resting = 0;
    enter("paused");
  }

  function step() {
    pause();
    if (player.position < player.lines.length) player.step(1);
    else advance(true);
  }

  function back() {
    pause();
    player.step(-1);
  }

  const KEYS = { " ": press, ArrowRight: step, ".": step, ArrowLeft: back, ",": back,
    1: () => answer(0), 2: () => answer(1), 3: () => answer(2),
    a: () => answer(0), b: () => answer(1), c: () => answer(2) };

  document.addEventListener("keydown", (event) => {
    if (phase === "over" && setup.live) return;
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, a, summary")) return;
    const act = KEYS[event.key];
    if (!act || (event.key === " " && event.target.closest("button, [role=button]"))) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    if ((act === step || act === back) && by("lesson-step").disabled) return;
    act();
  }, true);

  answers.forEach((item, i) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...item.childNodes);
    button.addEventListener("click", () => answer(i));
    item.append(button);
  });
  by("told").replaceChildren();
  by("told-after").replaceChildren();
  by("spoiler").remove();
  by("reply").hidden = true;
  main.addEventListener("click", press);
  by("lesson-step").addEventListener("click", step);
  by("lesson-back").addEventListener("click", back);
  by("lesson-bar").hidden = false;
  document.body.classList.add("has-lesson");
  enter("loading");
  if (setup.live) post("lesson", { begin: setup.lesson.run });
  else phase = "preparing";
  return { feed, shown, changed };
};
