// The images of a result, alone and side by side, as films too.
/// Hands a key to the result that is shown, unless it is meant for a control.
let keys = null;
document.addEventListener("keydown", e => {
  if (e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName)) return;
  if ([keys, beside_keys].filter(k => k && k(e.key)).length) e.preventDefault();
});
/// The same for results side by side.
let beside_keys = null;
/// The level, of 65535, that is shown white: brighter are some noisy pixels.
function brightness(v) {
  const sorted = Array.from(v.magnitude).filter((_, i) => i % Math.ceil(v.magnitude.length / 20000) === 0).sort((a, b) => a - b);
  return Math.max(1, sorted[Math.floor(.995 * (sorted.length - 1))]);
}
/// Makes sliders of a state in `controls`, known by key in `inputs`.
const sliders = (controls, inputs, state, draw) => (name, key, min, max, step, show) => {
  const out = make("output", {}, show(state[key]));
  const input = make("input", {type: "range", min, max, step, value: state[key], "aria-label": name,
    oninput: e => { state[key] = +e.target.value; out.textContent = show(state[key]); draw(); }});
  inputs[key] = input;
  controls.append(make("label", {}, make("span", {}, name), input, out));
};
/// A button that turns the slider of a film, from its end to its beginning; it stops when the film leaves the page.
function film(name, input) {
  let timer = 0;
  const button = make("button", {type: "button", onclick: () => play(!timer)}, "Play");
  const play = on => {
    clearInterval(timer);
    timer = on ? setInterval(turn, 100) : 0;
    button.textContent = on ? "Pause" : "Play";
  };
  const turn = () => {
    if (!button.isConnected) return play(false);
    input.value = +input.value >= +input.max ? 0 : +input.value + 1;
    input.dispatchEvent(new Event("input"));
  };
  return make("div", {class: "label"}, make("span", {}, name), make("div", {class: "buttons"}, button));
}
const capital = text => text[0].toUpperCase() + text.slice(1);
const step_of = inputs => (key, d) => { const input = inputs[key]; if (!input) return false; input.value = +input.value + d; input.dispatchEvent(new Event("input")); return true; };
const percent = v => (100 * v).toFixed(0) + " %";
const degrees = phase => Math.round(((phase + 128) % 256 - 128) * 360 / 256) + "°";
/// The sides of the patient at the edges of a picture of a slice; `letters`: of each slice.
function put_letters(over, letters, slice) {
  for (const old of over.querySelectorAll(".letter")) old.remove();
  for (const [letter, place] of Object.entries((letters || [])[slice] || {}))
    over.append(make("span", {class: "letter", style: {left: "left:6px;top:46%", right: "right:6px;top:46%", top: "top:3px;left:48%", bottom: "bottom:3px;left:48%"}[letter]}, place));
}
function choice(name, options, changed) {
  const select = make("select", {"aria-label": name, onchange: e => changed(e.target.value)}, ...options.map(([value, text]) => make("option", {value}, text)));
  return [make("label", {}, make("span", {}, name), select), select];
}
/// All results in one window, at one slice and repetition (frame, bin), also as a film; of results with fewer slices the one at the same share.
function beside(results) {
  const items = results.map(r => { const v = volume(r.image); return {...r.shown, name: r.title, letters: r.letters, v, bright: brightness(v) / 65535 * v.largest}; });
  const most = key => Math.max(...items.map(i => i[key].length)), count = {slices: most("slices"), repetitions: most("repetitions")};
  const brightest = Math.max(...items.map(i => i.bright)), darkest = Math.min(...items.map(i => i.bright));
  const state = {slices: Math.floor(count.slices / 2), repetitions: 0, low: 0, high: 1, what: "magnitude", scale: brightest > 3 * darkest ? "own" : "same", at: null};
  const index = (item, key) => count[key] === item[key].length ? state[key] : Math.round(state[key] / Math.max(1, count[key] - 1) * (item[key].length - 1));
  const first = item => (index(item, "repetitions") * item.slices.length + index(item, "slices")) * item.width * item.height;
  const factor = item => state.scale === "own" && item.bright > 0 && items[0].bright > 0 ? items[0].bright / item.bright : 1;
  const where = item => (count.slices > 1 ? `slice ${item.slices[index(item, "slices")]}` : "") + (count.repetitions > 1 ? `${count.slices > 1 ? ", " : ""}${item.kind} ${item.repetitions[index(item, "repetitions")]}` : "");
  const readout = make("p", {class: "readout"}), hint = `Point at a place to read the values of all. Keys: ${count.slices > 1 ? "↑ ↓ slice, " : ""}P phase.`;
  const read = () => {
    if (!state.at) { readout.textContent = hint; return; }
    const value = item => {
      const at = first(item) + Math.floor(state.at[1] * item.height) * item.width + Math.floor(state.at[0] * item.width);
      return `${item.name} ${number(item.v.magnitude[at] / 65535 * item.v.largest, 4)} ∠ ${degrees(item.v.phase[at])}`;
    };
    readout.textContent = items.map(value).join(" · ");
  };
  const point = e => {
    const box = e.target.getBoundingClientRect(), share = (offset, length) => Math.max(0, Math.min(1 - 1e-9, offset / length));
    state.at = [share(e.clientX - box.left, box.width), share(e.clientY - box.top, box.height)];
    read();
  };
  const leave = () => { state.at = null; read(); };
  for (const item of items) {
    const aspect = item.fov_mm ? item.fov_mm[0] / item.fov_mm[1] : item.width / item.height;
    item.canvas = make("canvas", {"aria-label": item.name, role: "img", style: `aspect-ratio:${aspect}`, onpointermove: point, onpointerdown: point, onpointerleave: leave});
    item.note = make("span", {});
    const over = make("div", {class: "over", style: "left:0;right:0"});
    item.over = over;
    item.figure = make("figure", {}, make("div", {class: "view"}, item.canvas, over), make("figcaption", {}, make("b", {}, item.name), " ", item.note));
  }
  const draw = () => {
    const white = Math.max(...items.map(i => i.bright * factor(i))) || 1;
    for (const item of items) {
      const start = first(item), unit = item.v.largest * factor(item) / white / 65535, {magnitude, phase} = item.v;
      const share = at => (magnitude[at] * unit - state.low) / Math.max(1e-6, state.high - state.low);
      paint(item.canvas, item.width, item.height, i => state.what === "phase" ? hue(phase[start + i], Math.max(0, Math.min(1, share(start + i)))) : gray(255 * share(start + i)));
      const shown = factor(item) === 1 ? "" : `shown × ${number(factor(item))}`;
      put_letters(item.over, item.letters, index(item, "slices"));
      item.note.textContent = [where(item), shown].filter(t => t).join(", ");
    }
    read();
  };
  const controls = make("div", {class: "controls"}), inputs = {}, slider = sliders(controls, inputs, state, draw);
  const named = (key, v) => { const item = items.find(i => i[key].length === count[key]); return item[key][v]; };
  if (count.slices > 1) slider("Slice of all", "slices", 0, count.slices - 1, 1, v => named("slices", v));
  const longest = items.find(i => i.repetitions.length === count.repetitions);
  if (count.repetitions > 1) slider(`${capital(longest.kind)} of all`, "repetitions", 0, count.repetitions - 1, 1, v => named("repetitions", v));
  slider("Black of all", "low", 0, 1, .005, percent);
  slider("White of all", "high", .005, 1.5, .005, percent);
  const [what, what_select] = choice("Shown", [["magnitude", "magnitude"], ["phase", "phase (colour circle)"]], v => { state.what = v; draw(); });
  const [scale, scale_select] = choice("Scale", [["same", "signal units, the same for all"], ["own", "each as bright as the first"]], v => { state.scale = v; draw(); });
  scale_select.value = state.scale;
  controls.append(what, scale);
  if (count.repetitions > 2) controls.append(film("Film of all", inputs.repetitions));
  const step = step_of(inputs);
  const actions = {ArrowUp: () => step("slices", 1), ArrowDown: () => step("slices", -1), p: () => { what_select.value = state.what === "phase" ? "magnitude" : "phase"; what_select.dispatchEvent(new Event("change")); return true; }};
  beside_keys = key => key in actions && actions[key]();
  draw();
  const differ = items.some(i => i.slices.length !== count.slices) ? "The results differ in their number of slices: of each, the one at the same share of the way is shown." : null;
  return card("Side by side", differ ? make("p", {class: "soft"}, differ) : null, make("div", {class: "panels beside"}, ...items.map(i => i.figure)), readout, controls);
}
function viewer(r) {
  const {width: w, height: h, stride, matrix_size, kind, repetitions, slices, fov_mm: fov} = r.shown, size = w * h;
  const aspect = fov ? fov[0] / fov[1] : w / h;  // voxels need not be square
  const image = volume(r.image), gridded = r.gridded ? volume(r.gridded) : null;
  const name = r.method === "cg" ? "Conjugate gradient" : "Image";
  // Best real scale of the gridded magnitudes onto the others, as stored and in the units of the files.
  let scale = 0, true_scale = 0;
  if (gridded) {
    let ab = 0, bb = 0;
    for (let i = 0; i < image.magnitude.length; ++i) { ab += image.magnitude[i] * gridded.magnitude[i]; bb += gridded.magnitude[i] ** 2; }
    scale = bb > 0 ? ab / bb : 0;
    true_scale = gridded.largest > 0 ? scale * image.largest / gridded.largest : 0;
  }
  const bright = brightness(image);
  const state = {repetition: 0, slice: Math.floor(slices.length / 2), low: 0, high: bright / 65535, what: "magnitude", zoom: 0, at: null};
  const first = () => (state.repetition * slices.length + state.slice) * size;  // voxel of the plane shown
  const level = v => 255 * (v / 65535 - state.low) / Math.max(1e-6, state.high - state.low);
  const gray_or_hue = (v, factor) => i => {
    const at = first() + i, shade = level(factor * v.magnitude[at]);
    return state.what === "phase" ? hue(v.phase[at], Math.max(0, Math.min(1, shade / 255))) : gray(shade);
  };

  // --- The voxel under the pointer, in words and marked in every panel
  const readout = make("p", {class: "readout"});
  const magnitude = (v, at) => v.magnitude[at] / 65535 * v.largest;
  const value = (v, at) => `${number(magnitude(v, at), 4)} ∠ ${degrees(v.phase[at])}`;
  const block = (i, count) => stride === 1 ? i : `${i * stride}–${Math.min(count, (i + 1) * stride) - 1}`;
  const read = () => {
    for (const c of crosses) c.style.display = state.at ? "" : "none";
    if (!state.at) { readout.textContent = hint; return; }
    const [x, y] = state.at, at = first() + y * w + x;
    for (const c of crosses) { c.style.left = `${100 * (x + .5) / w}%`; c.style.top = `${100 * (y + .5) / h}%`; c.style.width = `${100 / w}%`; c.style.height = `${100 / h}%`; }
    readout.replaceChildren(`Voxel x ${block(x, matrix_size[0])}, y ${block(y, matrix_size[1])}, slice ${slices[state.slice]}` + (repetitions.length > 1 ? `, ${kind} ${repetitions[state.repetition]}` : "") + (stride > 1 ? " (mean)" : ""), make("br", {}),
      `${name} ${value(image, at)}` + (gridded ? ` · gridded ${value(gridded, at)} · difference ${number(magnitude(image, at) - true_scale * magnitude(gridded, at), 3)}` : ""));
  };
  const point = e => {
    const box = e.target.getBoundingClientRect();
    const index = (offset, length, count) => Math.max(0, Math.min(count - 1, Math.floor(offset / length * count)));
    state.at = [index(e.clientX - box.left, box.width, w), index(e.clientY - box.top, box.height, h)];
    read();
  };
  const leave = () => { state.at = null; read(); };

  // --- Panels: all of one geometry, scrolled together
  const paints = [], frames = [], crosses = [], pans = [], overs = [], scales = [];
  const panel = (title, note, colour) => {
    const canvas = make("canvas", {"aria-label": title, role: "img", style: `aspect-ratio:${aspect}`, onpointermove: point, onpointerdown: point, onpointerleave: leave});
    const cross = make("span", {class: "cross", style: "display:none"}), frame = make("div", {class: "frame"}, canvas, cross);
    const pan = make("div", {class: "pan", onscroll: () => { for (const p of pans) if (p !== pan) { p.scrollLeft = pan.scrollLeft; p.scrollTop = pan.scrollTop; } }}, frame);
    const over = make("div", {class: "over"}), bar = fov ? make("span", {class: "scale"}) : null;
    if (bar) { over.append(bar); scales.push(bar); }
    frames.push(frame); crosses.push(cross); pans.push(pan); overs.push(over);
    paints.push(() => paint(canvas, w, h, colour));
    return make("figure", {}, make("div", {class: "view"}, pan, over), make("figcaption", {}, make("b", {}, title), " ", note));
  };
  const figures = [panel(name, "", gray_or_hue(image, 1))];
  if (gridded) {
    figures.push(panel("Gridded", `density-compensated, shown × ${number(true_scale)} (best scale)`, gray_or_hue(gridded, scale)));
    figures.push(panel("Difference × 5", "of the magnitudes, same window", i => {
      const at = first() + i;
      return gray(5 * 255 * Math.abs(image.magnitude[at] - scale * gridded.magnitude[at]) / 65535 / Math.max(1e-6, state.high - state.low));
    }));
  }
  const low = make("span", {}), high = make("span", {}), ramp = make("div", {class: "ramp gray"}, low, make("i", {}), high);
  const draw = () => {
    paints.forEach(p => p());
    overs.forEach(over => put_letters(over, r.letters, state.slice));
    const phase = state.what === "phase";
    ramp.className = "ramp " + (phase ? "hue" : "gray");
    low.textContent = phase ? "−180°" : number(state.low * image.largest);
    high.textContent = phase ? "180°; brightness: magnitude" : number(state.high * image.largest) + " signal units";
    read();
  };
  // The longest round length within a quarter of what can be seen of the image.
  const measure = () => {
    const pixels_per_mm = frames[0].clientWidth / (fov ? fov[0] : 1), seen = Math.min(pans[0].clientWidth, frames[0].clientWidth);
    for (const bar of scales) {
      const mm = round(Math.max(seen / 4, 30) / pixels_per_mm);
      bar.style.width = `${mm * pixels_per_mm}px`;
      bar.textContent = `${number(mm)} mm`;
    }
    for (const o of overs) { o.style.left = `${(pans[0].clientWidth - seen) / 2}px`; o.style.width = `${seen}px`; }
  };

  // --- Controls
  const controls = make("div", {class: "controls"}), inputs = {};
  const slider = sliders(controls, inputs, state, draw);
  if (slices.length > 1) slider("Slice", "slice", 0, slices.length - 1, 1, v => slices[v]);
  if (repetitions.length > 1) slider(capital(kind), "repetition", 0, repetitions.length - 1, 1, v => repetitions[v]);
  slider("Black", "low", 0, 1, .005, percent);
  slider("White", "high", .005, 1, .005, percent);
  const [label, what] = choice("Shown", [["magnitude", "magnitude"], ["phase", "phase (colour circle)"]], v => { state.what = v; draw(); });
  controls.append(label);
  const grid = make("div", {class: "panels close"}, ...figures), largest_zoom = 5;
  const zooms = make("div", {class: "buttons", role: "group", "aria-label": "zoom"});
  // Whole numbers of screen pixels per voxel along x; along y what the shape of the voxels asks for.
  const zoom = z => {
    state.zoom = Math.max(0, Math.min(largest_zoom, z));
    [...zooms.children].forEach((b, i) => b.setAttribute("aria-pressed", String(i === state.zoom)));
    for (const f of frames) { f.style.width = state.zoom ? `${w * state.zoom}px` : ""; f.style.maxWidth = state.zoom ? "" : `calc(82vh * ${aspect})`; }
    measure();
    for (const p of pans) { p.scrollLeft = (p.scrollWidth - p.clientWidth) / 2; p.scrollTop = (p.scrollHeight - p.clientHeight) / 2; }
  };
  for (let z = 0; z <= largest_zoom; ++z) zooms.append(make("button", {type: "button", onclick: () => zoom(z)}, z ? `${z}×` : "fit"));
  controls.append(make("div", {class: "label"}, make("span", {}, "Zoom"), zooms));

  // --- Keys
  const step = step_of(inputs);
  const sideways = inputs.repetition ? "repetition" : "slice";
  if (repetitions.length > 2) controls.append(film("Film", inputs.repetition));
  const actions = {ArrowUp: () => step("slice", 1), ArrowDown: () => step("slice", -1), ArrowRight: () => step(sideways, 1), ArrowLeft: () => step(sideways, -1),
    "+": () => zoom(state.zoom + 1), "-": () => zoom(state.zoom - 1), "0": () => zoom(0),
    p: () => { what.value = state.what === "phase" ? "magnitude" : "phase"; what.dispatchEvent(new Event("change")); }};
  keys = key => key in actions && actions[key]() !== false;
  const hint = "Point at a voxel to read its value. Keys: " + (inputs.slice ? (inputs.repetition ? "↑ ↓" : "arrows") + " slice, " : "") + (inputs.repetition ? `← → ${kind}, ` : "") + "+ − 0 zoom, P phase.";
  if (inputs.slice) grid.addEventListener("wheel", e => { if (!e.ctrlKey && !state.zoom && step("slice", Math.sign(e.deltaY))) e.preventDefault(); }, {passive: false});
  draw();
  zoom(0);
  fits.push(measure);
  const holes = Math.max(r.image.not_finite || 0, r.gridded && r.gridded.not_finite || 0);
  return card("Images", holes ? make("p", {class: "verdict fail", role: "alert"}, `${holes} of the ${image.magnitude.length} pixels shown are not finite numbers; they are drawn black.`) : null,
    r.reduced ? make("p", {class: "soft"}, r.reduced) : null, grid, ramp, readout, controls);
}
