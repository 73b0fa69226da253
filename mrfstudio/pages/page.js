"use strict";
// A run: a slider over iterations, beliefs and messages under the pointer, curves. No libraries, no network.
(async () => {
  const run = JSON.parse(document.getElementById("data").textContent);
  const KINDS = { "<f4": Float32Array, "<f8": Float64Array, "<i4": Int32Array, u1: Uint8Array };
  const COLOURS = ["#0b5cad", "#d9730d", "#a3206b", "#0d7a5f", "#6b7079", "#7a4b12"];
  const LABELS = [[18, 60, 140], [180, 192, 204], [240, 163, 10], [28, 138, 114], [192, 92, 156], [122, 75, 18]];
  const at = (id) => document.getElementById(id);

  async function unpack(packed) {
    if (!packed) return null;
    const bytes = Uint8Array.from(atob(packed.data), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    const values = new KINDS[packed.kind](await new Response(stream).arrayBuffer());
    return { values, shape: packed.shape };
  }

  const graph = run.graph && { labels: run.graph.labels };
  if (graph) for (const name of ["positions", "edges", "states", "stars", "couplings"]) graph[name] = await unpack(run.graph[name]);
  const lanes = [];
  for (const lane of run.lanes) {
    const curves = {};
    for (const name in lane.curves) curves[name] = (await unpack(lane.curves[name])).values;
    lanes.push({ name: lane.name, beliefs: await unpack(lane.beliefs), messages: await unpack(lane.messages), curves });
  }

  let now = run.iterations.length - 1, shown = 0, pointed = null, timer = null;
  const canvas = at("canvas"), pen = canvas.getContext("2d"), slider = at("slider"), chooser = at("lane");
  slider.max = now;
  lanes.forEach((lane, index) => chooser.add(new Option(lane.name, index)));
  chooser.hidden = lanes.length < 2;

  const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  // Shortest form that a person can compare: as many digits as a 32-bit number has.
  const said = (value) => Number.isFinite(value) ? String(Number(value.toPrecision(7))) : "–";

  // Numbers ------------------------------------------------------------------------------------------------------

  function belief(node) {
    const { values, shape } = lanes[shown].beliefs;
    if (graph) {
      const [, nodes, states] = shape, start = (now * nodes + node) * states;
      return Array.from(values.slice(start, start + graph.states.values[node]));
    }
    const [, height, width, labels] = shape, start = (now * height * width + node) * labels;
    return Array.from(values.slice(start, start + labels), (value) => value / 255);
  }

  function message(edge, side) {
    const found = lanes[shown].messages;
    if (!found) return null;
    const [, edges, , states] = found.shape, start = ((now * edges + edge) * 2 + side) * states;
    const node = graph.edges.values[2 * edge + side];
    const values = Array.from(found.values.slice(start, start + graph.states.values[node]));
    return values.every(Number.isFinite) ? values : null;
  }

  // Drawing ------------------------------------------------------------------------------------------------------

  let places = [], radius = 10, cell = 1, origin = [0, 0];

  function layout() {
    const side = canvas.clientWidth, ratio = window.devicePixelRatio || 1;
    canvas.width = canvas.height = Math.max(Math.round(side * ratio), 1);
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    if (graph) {
      const flat = graph.positions.values, count = flat.length / 2;
      const xs = [], ys = [];
      for (let i = 0; i < count; i++) { xs.push(flat[2 * i]); ys.push(flat[2 * i + 1]); }
      const left = Math.min(...xs), top = Math.min(...ys);
      const wide = Math.max(...xs) - left || 1, high = Math.max(...ys) - top || 1, most = Math.max(wide, high);
      const room = side * 0.86;
      places = xs.map((x, i) => [
        side * 0.07 + (room * (x - left)) / most + (room * (1 - wide / most)) / 2,
        side * 0.07 + (room * (ys[i] - top)) / most + (room * (1 - high / most)) / 2,
      ]);
      radius = Math.min(Math.max(room / (2.8 * Math.sqrt(count)), 3), 26);
    } else {
      const [, height, width] = lanes[0].beliefs.shape;
      cell = side / Math.max(height, width);
      origin = [(side - cell * width) / 2, (side - cell * height) / 2];
    }
  }

  // As in the window: two states are blue against brown around white, more are a mixture of their colours.
  function mixed(probabilities, states) {
    if (states === 2) {
      const lean = 2 * probabilities[1] - 1, sure = lean > 0 ? [117, 54, 0] : [20, 60, 160];
      const half = lean > 0 ? [210, 138, 52] : [113, 159, 217], white = [255, 255, 255];
      const [from, to, part] = Math.abs(lean) < 0.5 ? [white, half, 2 * Math.abs(lean)] : [half, sure, 2 * Math.abs(lean) - 1];
      return from.map((value, i) => Math.round(value + (to[i] - value) * part));
    }
    const sum = [0, 0, 0];
    probabilities.forEach((p, s) => LABELS[s % LABELS.length].forEach((value, i) => { sum[i] += p * value; }));
    return sum.map(Math.round);
  }

  function drawGraph() {
    pen.clearRect(0, 0, canvas.width, canvas.height);
    const edges = graph.edges.values, text = style("--text"), line = style("--muted");
    for (let e = 0; e < edges.length / 2; e++) {
      const a = places[edges[2 * e]], b = places[edges[2 * e + 1]];
      pen.beginPath(); pen.moveTo(...a); pen.lineTo(...b);
      const chosen = pointed && pointed.edge === e;
      pen.strokeStyle = chosen ? style("--accent") : line;
      pen.lineWidth = chosen ? 4 : 1.5;
      pen.stroke();
    }
    const centres = {};
    for (let k = 0; graph.stars && k < graph.stars.values.length / 2; k++) {
      const factor = graph.stars.values[2 * k], node = graph.stars.values[2 * k + 1];
      (centres[factor] ||= []).push(places[node]);
    }
    for (const group of Object.values(centres)) {
      const middle = [0, 1].map((i) => group.reduce((sum, place) => sum + place[i], 0) / group.length);
      pen.strokeStyle = line; pen.lineWidth = 1.5;
      for (const place of group) { pen.beginPath(); pen.moveTo(...middle); pen.lineTo(...place); pen.stroke(); }
      pen.fillStyle = line; pen.fillRect(middle[0] - 4, middle[1] - 4, 8, 8);
    }
    places.forEach((place, node) => {
      pen.beginPath(); pen.arc(place[0], place[1], radius, 0, 2 * Math.PI);
      const colour = mixed(belief(node), graph.states.values[node]);
      pen.fillStyle = `rgb(${colour.join()})`;
      pen.fill();
      const chosen = pointed && pointed.node === node;
      pen.strokeStyle = chosen ? text : line; pen.lineWidth = chosen ? 3 : 1; pen.stroke();
      if (radius >= 9) {
        pen.fillStyle = 0.299 * colour[0] + 0.587 * colour[1] + 0.114 * colour[2] > 140 ? "#1a1c20" : "#ffffff"; pen.font = `600 ${Math.min(radius, 15)}px system-ui, sans-serif`;
        pen.textAlign = "center"; pen.textBaseline = "middle";
        pen.fillText(graph.labels[node], place[0], place[1]);
      }
    });
  }

  function drawPicture() {
    const { values, shape } = lanes[shown].beliefs, [, height, width, labels] = shape;
    const image = new ImageData(width, height), start = now * height * width * labels;
    for (let i = 0; i < height * width; i++) {
      const colour = [0, 0, 0];
      if (labels === 1) colour.fill(values[start + i]);
      else for (let l = 0; l < labels; l++) {
        const p = values[start + i * labels + l] / 255;
        LABELS[l % LABELS.length].forEach((value, c) => { colour[c] += p * value; });
      }
      image.data.set([...colour.map(Math.round), 255], 4 * i);
    }
    const small = document.createElement("canvas");
    small.width = width; small.height = height;
    small.getContext("2d").putImageData(image, 0, 0);
    pen.clearRect(0, 0, canvas.width, canvas.height);
    pen.imageSmoothingEnabled = false;
    pen.drawImage(small, ...origin, cell * width, cell * height);
    if (pointed) {
      const row = Math.floor(pointed.node / width), column = pointed.node % width;
      pen.strokeStyle = "#e0007a"; pen.lineWidth = 2;
      pen.strokeRect(origin[0] + column * cell, origin[1] + row * cell, cell, cell);
    }
  }

  // Words --------------------------------------------------------------------------------------------------------

  function bars(values, names, kind) {
    return values.map((value, index) => {
      const name = names[index] ?? String(index);
      return `<div class="bar" data-kind="${kind}" data-state="${index}" data-value="${said(value)}"><span>${name}</span>` +
        `<i style="width:${(100 * Math.min(Math.max(value, 0), 1)).toFixed(2)}%"></i><b>${said(value)}</b></div>`;
    }).join("");
  }

  const escaped = (text) => text.replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`);

  function describe() {
    const info = at("info");
    if (!pointed) { info.innerHTML = "<p class=message>Point at the picture to read its numbers.</p>"; return; }
    if (graph && pointed.edge !== undefined) {
      const ends = [0, 1].map((side) => escaped(graph.labels[graph.edges.values[2 * pointed.edge + side]]));
      const strength = graph.couplings ? `, coupling ${said(graph.couplings.values[pointed.edge])}` : "";
      const parts = [0, 1].map((side) => {
        const values = message(pointed.edge, side);
        const title = `<h3 class=message>${ends[1 - side]} → ${ends[side]}</h3>`;
        return title + (values ? bars(values, values.map((_, s) => `state ${s}`), `message-${side}`) : "no message");
      });
      info.innerHTML = `<h3>Edge ${ends[0]} – ${ends[1]}${strength}</h3>${parts.join("")}`;
      return;
    }
    const values = belief(pointed.node);
    if (graph) {
      info.innerHTML = `<h3>Node ${escaped(graph.labels[pointed.node])}</h3>` +
        bars(values, values.map((_, s) => `state ${s}`), "belief");
    } else {
      const width = lanes[0].beliefs.shape[2];
      const names = run.labels.length ? run.labels.map(escaped) : ["grey level"];
      info.innerHTML = `<h3>Row ${Math.floor(pointed.node / width)}, column ${pointed.node % width}</h3>` +
        bars(values, names, "belief");
    }
  }

  // Curves -------------------------------------------------------------------------------------------------------

  const WIDE = 320, HIGH = 170, LEFT = 46, BOTTOM = 22;
  const figures = [];

  function makeCurves() {
    for (const [name, about] of Object.entries(run.curves)) {
      const known = lanes.filter((lane) => lane.curves[name]);
      if (!known.length) continue;
      const height = (value) => about.log ? Math.log10(Math.max(value, 1e-12)) : value;
      const all = known.flatMap((lane) => Array.from(lane.curves[name])).filter(Number.isFinite).map(height);
      let low = Math.min(...all), high = Math.max(...all);
      if (!(high > low)) { low -= 0.5; high += 0.5; }
      const last = run.iterations[run.iterations.length - 1] || 1, first = run.iterations[0];
      const x = (i) => LEFT + ((WIDE - LEFT - 8) * (run.iterations[i] - first)) / Math.max(last - first, 1);
      const y = (value) => 10 + (HIGH - BOTTOM - 10) * (1 - (height(value) - low) / (high - low));
      const figure = document.createElement("figure");
      const lines = lanes.map((lane, index) => {
        if (!lane.curves[name]) return "";
        const points = Array.from(lane.curves[name], (value, i) => Number.isFinite(value) ? `${x(i).toFixed(1)},${y(value).toFixed(1)}` : "");
        return `<polyline points="${points.filter(Boolean).join(" ")}" fill="none" stroke="${COLOURS[index % 6]}" stroke-width="2"/>`;
      });
      const number = (value) => about.log ? `1e${Math.round(value)}` : String(Number(value.toPrecision(4)));
      figure.innerHTML = `<figcaption>${about.title}<span></span></figcaption>` +
        `<svg viewBox="0 0 ${WIDE} ${HIGH}"><text x="2" y="16">${number(high)}</text>` +
        `<text x="2" y="${HIGH - BOTTOM}">${number(low)}</text><text x="${LEFT}" y="${HIGH - 5}">${first}</text>` +
        `<text x="${WIDE - 8}" y="${HIGH - 5}" text-anchor="end">${last}</text>${lines.join("")}` +
        `<line y1="8" y2="${HIGH - BOTTOM}" stroke="currentColor" stroke-dasharray="3 3"/></svg>`;
      const svg = figure.querySelector("svg");
      svg.addEventListener("click", (event) => {
        const box = svg.getBoundingClientRect(), across = ((event.clientX - box.left) / box.width) * WIDE;
        const wanted = first + ((across - LEFT) / (WIDE - LEFT - 8)) * (last - first);
        go(run.iterations.reduce((best, value, i) => Math.abs(value - wanted) < Math.abs(run.iterations[best] - wanted) ? i : best, 0));
      });
      at("curves").append(figure);
      figures.push({ name, mark: figure.querySelector("line"), said: figure.querySelector("span"), x });
    }
  }

  function drawCurves() {
    for (const figure of figures) {
      figure.mark.setAttribute("x1", figure.x(now)); figure.mark.setAttribute("x2", figure.x(now));
      const values = lanes.map((lane) => lane.curves[figure.name]?.[now]);
      figure.said.textContent = values.filter((value) => value !== undefined).map(said).join("  ");
      figure.said.dataset.curve = figure.name;
    }
  }

  // Hands --------------------------------------------------------------------------------------------------------

  function redraw() {
    (graph ? drawGraph : drawPicture)();
    describe();
    drawCurves();
    at("iteration").textContent = `iteration ${run.iterations[now]} of ${run.iterations[run.iterations.length - 1]}`;
    slider.value = now;
  }

  function go(index) {
    now = Math.min(Math.max(index, 0), run.iterations.length - 1);
    redraw();
  }

  function near(x, y) {
    if (!graph) {
      const [, height, width] = lanes[0].beliefs.shape;
      const column = Math.floor((x - origin[0]) / cell), row = Math.floor((y - origin[1]) / cell);
      return row >= 0 && row < height && column >= 0 && column < width ? { node: row * width + column } : null;
    }
    for (let node = 0; node < places.length; node++) {
      if (Math.hypot(places[node][0] - x, places[node][1] - y) <= radius + 2) return { node };
    }
    let best = 8, found = null;
    for (let e = 0; e < graph.edges.values.length / 2; e++) {
      const [ax, ay] = places[graph.edges.values[2 * e]], [bx, by] = places[graph.edges.values[2 * e + 1]];
      const long = (bx - ax) ** 2 + (by - ay) ** 2 || 1;
      const part = Math.min(Math.max(((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / long, 0), 1);
      const away = Math.hypot(ax + part * (bx - ax) - x, ay + part * (by - ay) - y);
      if (away < best) { best = away; found = { edge: e }; }
    }
    return found;
  }

  canvas.addEventListener("pointermove", (event) => {
    const box = canvas.getBoundingClientRect();
    pointed = near(event.clientX - box.left, event.clientY - box.top);
    redraw();
  });
  slider.addEventListener("input", () => go(Number(slider.value)));
  chooser.addEventListener("change", () => { shown = Number(chooser.value); redraw(); });
  at("play").addEventListener("click", () => {
    if (timer) { clearInterval(timer); timer = null; at("play").textContent = "▶"; return; }
    if (now === run.iterations.length - 1) go(0);
    at("play").textContent = "⏸";
    timer = setInterval(() => {
      go(now + 1);
      if (now === run.iterations.length - 1) at("play").click();
    }, 100);
  });
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step) { go(now + step); event.preventDefault(); }
  });
  new ResizeObserver(() => { layout(); redraw(); }).observe(canvas);

  layout();
  makeCurves();
  redraw();
  // Where things are, for whoever wants to point at them with a program.
  window.mrfstudio = {
    place: (node) => { const box = canvas.getBoundingClientRect(); return [box.left + places[node][0], box.top + places[node][1]]; },
    middle: (edge) => {
      const box = canvas.getBoundingClientRect(), e = graph.edges.values;
      return [0, 1].map((i) => (i ? box.top : box.left) + (places[e[2 * edge]][i] + places[e[2 * edge + 1]][i]) / 2);
    },
  };
  // Within a lesson: no heading of its own, and as tall as what it shows.
  const frame = window.frameElement, heading = document.querySelector("h1");
  if (frame) {
    if (heading) heading.hidden = true;
    const fit = () => { if (document.body.offsetHeight > 100) frame.style.height = `${document.body.offsetHeight + 40}px`; };
    new ResizeObserver(fit).observe(document.body);
  }
  document.body.dataset.ready = "yes";
})();
