"use strict";
/* The lines of a recording and the place in it that is shown. Live, it follows the end. */

var Study = globalThis.Study || (globalThis.Study = {});

Study.player = ({ live, onShow, onChange }) => {
  const { initial, apply } = Study.model;
  const EVERY = 250; // lines between two kept states
  const MOST = 40000; // lines; when there are more, the older half is dropped
  const lines = [], sources = [];
  let kept = [initial()]; // kept[i]: the state before line i * EVERY
  let state = initial();
  let position = 0; // how many lines are applied
  let following = live, playing = false, speed = 1;
  let timer = 0, appliedAt = 0;
  const latest = { pace: "running" }; // what was received last, shown or not

  /* Add lines. `isPast`: they happened before the page was opened, so they are not played. */
  function add(more, isPast = false) {
    for (const line of more) {
      lines.push(line);
      if (line.hop === "study.pace") latest.pace = line.mode;
      if (line.hop === "study.source") sources.push(line);
    }
    if (isPast && following) {
      stop();
      seek(lines.length);
    }
    if (lines.length > MOST && position > MOST / 2) forget(MOST / 2);
    onChange();
    schedule();
  }

  /* Drop the oldest lines; a multiple of EVERY, so that the state before the rest is kept. */
  function forget(count) {
    lines.splice(0, count);
    kept = kept.slice(count / EVERY);
    position -= count;
  }

  function forward() {
    const line = lines[position];
    const moves = apply(state, line);
    position += 1;
    if (position % EVERY === 0 && !kept[position / EVERY]) {
      kept[position / EVERY] = structuredClone(state);
    }
    appliedAt = performance.now();
    return moves;
  }

  /* Milliseconds until the next line is shown. */
  function interval() {
    const behind = lines.length - position;
    if (following) {
      const [slowest, all] = latest.pace === "paused" ? [60, 600] : [90, 1500];
      return Math.min(slowest, all / Math.max(behind, 1));
    }
    const gap = position ? lines[position].at - lines[position - 1].at : 0;
    return Math.min(Math.max((gap * 1000) / speed, 70 / speed), 1200 / speed);
  }

  function schedule() {
    if (timer || position >= lines.length || !(following || playing)) return;
    timer = setTimeout(next, interval());
  }

  function next() {
    timer = 0;
    if (position >= lines.length || !(following || playing)) return;
    const wait = interval();
    let moves = forward();
    // A page that is far behind, or hidden, applies several lines for each picture.
    const behind = lines.length - position;
    const many = document.hidden ? lines.length
      : Math.max(Math.ceil(12 / Math.max(wait, 1)), Math.floor(behind / 50));
    for (let i = 1; i < many && position < lines.length; i += 1) moves = forward();
    onShow(state, moves, { quick: document.hidden, duration: Math.min(Math.max(wait * 5, 260), 800) });
    if (position >= lines.length && playing && !following) playing = false;
    onChange();
    schedule();
  }

  /* Show the state after `to` lines. */
  function seek(to) {
    const target = Math.max(0, Math.min(to, lines.length));
    if (target < position) {
      let i = Math.floor(target / EVERY);
      while (!kept[i]) i -= 1;
      state = structuredClone(kept[i]);
      position = i * EVERY;
    }
    while (position < target) forward();
    appliedAt = performance.now();
    onShow(state, [], { quick: true });
    onChange();
  }

  function stop() {
    clearTimeout(timer);
    timer = 0;
  }

  return {
    add, lines, sources, latest,
    get state() { return state; },
    get position() { return position; },
    get following() { return following; },
    get playing() { return playing; },
    get speed() { return speed; },
    /* The time of the recording that is shown now. */
    now() {
      const runs = following ? position === lines.length && state.pace !== "paused" : playing;
      return state.at + (runs ? ((performance.now() - appliedAt) / 1000) * (following ? 1 : speed) : 0);
    },
    seek(to) {
      stop();
      following = false;
      playing = false;
      seek(to);
    },
    step(by) {
      stop();
      following = false;
      playing = false;
      if (by === 1 && position < lines.length) {
        const moves = forward();
        onShow(state, moves, { duration: 700 });
        onChange();
      } else seek(position + by);
    },
    play() {
      if (position >= lines.length) seek(0);
      playing = true;
      following = false;
      onChange();
      schedule();
    },
    pause() {
      stop();
      playing = false;
      onChange();
    },
    follow() {
      stop();
      seek(lines.length);
      following = true;
      playing = false;
      onChange();
    },
    setSpeed(value) {
      speed = value;
      onChange();
    },
  };
};
