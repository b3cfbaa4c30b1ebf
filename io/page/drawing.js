// Pieces of a page: elements, numbers, plots, painted images.
const data = JSON.parse(document.getElementById("data").textContent);
const page = document.getElementById("page");
function make(tag, attributes, ...children) {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(attributes || {})) k.startsWith("on") ? e.addEventListener(k.slice(2), v) : e.setAttribute(k, v);
  for (const c of children) if (c !== null && c !== undefined) e.append(c);
  return e;
}
function svg(tag, attributes, text) {
  const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
  if (text !== undefined) e.textContent = text;
  return e;
}
const number = (x, digits = 3) => x === null || x === undefined || !isFinite(x) ? "–" :
  (x !== 0 && (Math.abs(x) < 1e-3 || Math.abs(x) >= 1e5)) ? x.toExponential(digits - 1).replace(/\.?0+e/, "e") : String(+x.toPrecision(digits));
const seconds = s => s >= 100 ? s.toFixed(0) + "\u00a0s" : s >= 1 ? s.toFixed(2) + "\u00a0s" : (1000 * s).toFixed(s >= 0.01 ? 0 : 1) + "\u00a0ms";
function bytes(text) {
  const raw = atob(text), out = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; ++i) out[i] = raw.charCodeAt(i);
  return out;
}
function card(title, ...children) { return make("section", {class: "card"}, make("h2", {}, title), ...children); }
function rows(pairs) {
  const t = make("table", {});
  for (const [k, v] of pairs) t.append(make("tr", {}, make("th", {scope: "row"}, k), make("td", {}, v)));
  return t;
}
/// A drawing as wide as its place, drawn anew when that changes: its text keeps its size.
function fitted(draw) {
  const place = make("div", {});
  fits.push(() => { if (place.clientWidth) place.replaceChildren(draw(place.clientWidth)); });
  return place;
}
const superscript = n => "10" + [...String(n)].map(c => c === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[c]).join("");
/// Values to label between a and b: round steps, or on a logarithmic axis decades, else 1, 2 and 5 of each.
function ticks(a, b, log) {
  const out = [];
  if (log) {
    const decades = Math.log10(b / a), each = Math.ceil(decades / 6);
    const mantissas = decades >= 2 ? [1] : decades >= 1 ? [1, 2, 5] : [1, 1.5, 2, 3, 4, 5, 6, 8];
    for (let e = Math.floor(Math.log10(a)); e <= Math.log10(b); e += 1)
      if (e % each === 0) for (const m of mantissas) { const v = +`${m}e${e}`; if (v >= a * .999 && v <= b * 1.001) out.push([v, decades >= 2 ? superscript(e) : number(v)]); }
    if (out.length > 1) return out;
    out.length = 0;
  }
  const raw = (b - a) / 6, power = 10 ** Math.floor(Math.log10(raw)), step = power * [1, 2, 5, 10].find(m => m * power >= raw * .999);
  for (let i = Math.ceil(a / step - 1e-9); i * step <= b + 1e-9 * step; ++i) out.push([i * step, number(+(i * step).toPrecision(12))]);
  return out;
}
/// The two axes of a drawing with their names and labels. X and Y turn values into pixels.
function axes(s, {X, Y, xticks, yticks, left, right, top, bottom, xname, yname, grid}) {
  for (const [v, text] of yticks) s.append(svg("line", {x1: grid ? left : left - 4, x2: grid ? right : left, y1: Y(v), y2: Y(v), stroke: "var(--line)"}), svg("text", {x: left - 7, y: Y(v) + 4, "text-anchor": "end"}, text));
  for (const [v, text] of xticks) s.append(svg("line", {x1: X(v), x2: X(v), y1: bottom, y2: bottom + 4, stroke: "var(--soft)"}), svg("text", {x: X(v), y: bottom + 18, "text-anchor": "middle"}, text));
  s.append(svg("path", {d: `M${left} ${top}V${bottom}H${right}`, fill: "none", stroke: "var(--soft)"}));
  const middle = (top + bottom) / 2;
  s.append(svg("text", {x: (left + right) / 2, y: bottom + 38, "text-anchor": "middle"}, xname), svg("text", {x: 13, y: middle, "text-anchor": "middle", transform: `rotate(-90 13 ${middle})`}, yname));
}
/// Points [x, y, what the pointer reads there] joined by a line; `mark` is circled.
function plot({points, xlog, ylog, xname, yname, mark}) {
  return fitted(W => {
    const H = Math.round(Math.min(300, Math.max(220, .64 * W))), left = 62, right = W - 14, top = 10, bottom = H - 46;
    const fx = xlog ? Math.log10 : v => v, fy = ylog ? Math.log10 : v => v;
    const usable = v => v !== null && isFinite(v), good = points.filter(p => usable(p[0]) && usable(p[1]) && isFinite(fx(p[0])) && isFinite(fy(p[1])));
    const s = svg("svg", {width: W, height: H, viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": `${yname} against ${xname}`});
    if (!good.length) return s;
    const range = (values, margin) => {
      const a = Math.min(...values), b = Math.max(...values), d = b > a ? margin * (b - a) : .5;
      return [a - d, b + d];
    };
    const [x0, x1] = range(good.map(p => fx(p[0])), xlog ? .06 : 0), [y0, y1] = range(good.map(p => fy(p[1])), .05);
    const X = v => left + (fx(v) - x0) / (x1 - x0) * (right - left), Y = v => bottom - (fy(v) - y0) / (y1 - y0) * (bottom - top);
    const between = (a, b, log) => log ? ticks(10 ** a, 10 ** b, true) : ticks(a, b, false);
    axes(s, {X, Y, xticks: between(x0, x1, xlog), yticks: between(y0, y1, ylog), left, right, top, bottom, xname, yname, grid: true});
    s.append(svg("path", {d: "M" + good.map(p => X(p[0]).toFixed(1) + " " + Y(p[1]).toFixed(1)).join("L"), fill: "none", stroke: "var(--accent)", "stroke-width": 2}));
    for (const p of good) {
      const dot = svg("circle", {cx: X(p[0]), cy: Y(p[1]), r: 3, fill: "var(--accent)"});
      dot.append(svg("title", {}, p[2]));
      s.append(dot);
    }
    if (mark) s.append(svg("circle", {cx: X(mark[0]), cy: Y(mark[1]), r: 7, fill: "none", stroke: "var(--bad)", "stroke-width": 2}));
    return s;
  });
}
function paint(canvas, width, height, colour) {
  canvas.width = width; canvas.height = height;
  const context = canvas.getContext("2d"), image = context.createImageData(width, height);
  for (let i = 0; i < width * height; ++i) {
    const c = colour(i);
    image.data[4 * i] = c[0]; image.data[4 * i + 1] = c[1]; image.data[4 * i + 2] = c[2]; image.data[4 * i + 3] = 255;
  }
  context.putImageData(image, 0, 0);
}
const gray = v => { const g = Math.max(0, Math.min(255, v)); return [g, g, g]; };
/// A colour of the phase circle: -pi … pi, from 0 … 255, times a brightness 0 … 1.
function hue(phase, brightness) {
  const h = phase / 256 * 6, f = n => { const k = (n + h) % 6; return 255 * brightness * (1 - Math.max(0, Math.min(k, 4 - k, 1))); };
  return [f(5), f(3), f(1)];
}
function volume(v) {
  const b = bytes(v.magnitude);
  return {largest: v.largest, magnitude: new Uint16Array(b.buffer), phase: v.phase ? bytes(v.phase) : null};
}
/// 1, 2 or 5 times a power of ten, at most x.
const round = x => { const p = 10 ** Math.floor(Math.log10(x)); return p * (x >= 5 * p ? 5 : x >= 2 * p ? 2 : 1); };
/// Functions that draw plots and scale bars as wide as the window: called once the page has them, and when its width changes.
let fits = [];
const fit_all = () => fits.forEach(f => f());
window.addEventListener("resize", fit_all);
