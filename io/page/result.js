// The page: everything else that a result holds, and the index of a batch.
/// Draws when each stage was at work: a lane each, in the order of their beginnings.
function timeline(stages) {
  const is_span = p => Array.isArray(p) && p.length === 2 && p.every(x => typeof x === "number" && isFinite(x) && x >= 0);
  const lanes = stages.map(s => ({name: s.name, spans: (Array.isArray(s.spans) ? s.spans : []).filter(is_span)})).filter(s => s.spans.length);
  lanes.sort((a, b) => a.spans[0][0] - b.spans[0][0]);
  const end = Math.max(...lanes.flatMap(s => s.spans.map(p => p[0] + p[1])));
  if (!lanes.length || !(end > 0)) return null;
  const drawing = fitted(W => {
    const lane = 18, left = Math.min(190, Math.round(.45 * W)), right = W - 14, top = 4, bottom = top + lane * lanes.length + 2, H = bottom + 44;
    const X = t => left + (right - left) * t / end;
    const s = svg("svg", {class: "timeline", width: W, height: H, viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": "stages against time"});
    const marks = ticks(0, end), each = Math.ceil(marks.length * 34 / (right - left));
    axes(s, {X, Y: v => v, xticks: marks.filter((m, i) => i % each === 0), yticks: [], left, right, top, bottom, xname: "time / s", yname: ""});
    lanes.forEach(({name, spans}, i) => {
      const y = top + lane * i, most = Math.floor((left - 8) / 6.4);
      s.append(svg("text", {x: left - 7, y: y + 13, "text-anchor": "end"}, name.length > most ? name.slice(0, most - 1) + "…" : name));
      for (const [begin, taken] of spans) {
        const bar = svg("rect", {x: X(begin), y: y + 3, width: Math.max(1, X(begin + taken) - X(begin)), height: lane - 6, rx: 2, fill: "var(--accent)"});
        bar.append(svg("title", {}, `${name}: ${seconds(taken)}, from ${seconds(begin)} on`));
        s.append(bar);
      }
    });
    return s;
  });
  const missing = stages.length - lanes.length;
  return make("div", {}, drawing, make("p", {class: "soft"}, "Time counts from the start of the reconstruction: reading the scan and writing the results are not part of it." + (missing ? ` ${missing} of ${stages.length} stages are shares of what was done for several images at once: they have no place here.` : "")));
}
function timings(r) {
  if (!r.stages.length) return null;
  const longest = Math.max(...r.stages.map(s => s.seconds), 1e-9), t = make("table", {class: "times"});
  const line = (cell, name, bars, taken) => t.append(make("tr", {}, make(cell, {}, name), make("td", {style: "width:38%"}, ...bars), make("td", {class: "num"}, taken)));
  for (const s of r.stages)
    line("td", s.name, [make("div", {class: "bar", style: `width:${100 * s.seconds / longest}%`})], seconds(s.seconds));
  line("th", "together", [], seconds(r.stages.reduce((a, s) => a + s.seconds, 0)));
  const images = r.certified ? r.certified.images : 1;
  return card("Time", timeline(r.stages), images > 1 ? make("p", {class: "soft"}, `Sums over all ${images} images.`) : null, t);
}
function coils(m) {
  const {width: w, height: h, count} = m, root = Math.ceil(Math.sqrt(count));
  // Nearly square, with few empty places.
  const columns = [root, root + 1, root + 2].reduce((a, c) => Math.ceil(count / c) * c < Math.ceil(count / a) * a ? c : a), lines = Math.ceil(count / columns);
  const {magnitude, phase} = volume(m);
  const mosaic = colour => {
    const canvas = make("canvas", {role: "img", "aria-label": "coil sensitivity maps"}), W = columns * w;
    paint(canvas, W, lines * h, i => {
      const x = i % W, y = Math.floor(i / W), coil = Math.floor(y / h) * columns + Math.floor(x / w);
      return coil < count ? colour(coil * w * h + (y % h) * w + x % w) : [0, 0, 0];
    });
    return make("div", {class: "view"}, canvas);
  };
  return card("Coil sensitivity maps", make("div", {class: "panels"},
    make("figure", {}, mosaic(i => gray(magnitude[i] / 257)), make("figcaption", {}, make("b", {}, "Magnitude"), ` of ${count}${m.of > count ? ` of ${m.of}` : ""} coils, middle slice` + (m.stride > 1 ? `, means of ${m.stride} × ${m.stride} pixels` : ""))),
    make("figure", {}, mosaic(i => hue(phase[i], magnitude[i] > 514 ? 1 : .15)), make("figcaption", {}, make("b", {}, "Phase"), " (colour circle)"))));
}
function spread(p) {
  const b = bytes(p.decibel), canvas = make("canvas", {}), [nx, ny] = p.extents;
  paint(canvas, p.width, p.height, i => gray(b[i]));
  const picture = canvas.toDataURL();
  paint(canvas, 1, 61, i => gray(255 * (1 - i / 60)));
  const decibels = canvas.toDataURL();
  return card("Point-spread function", fitted(W => {
    // The peak lies in the voxel n / 2, counted from 0; voxels need not fill the last block of pixels.
    const left = 62, top = 8, wide = Math.min(W - left - 66, 360), high = wide * ny / nx, right = left + wide, bottom = top + high;
    const s = svg("svg", {width: W, height: bottom + 46, viewBox: `0 0 ${W} ${bottom + 46}`, role: "img", "aria-label": "point-spread function"});
    s.append(svg("image", {href: picture, x: left, y: top, width: wide * p.width * p.stride / nx, height: high * p.height * p.stride / ny, preserveAspectRatio: "none", style: "image-rendering:pixelated"}));
    const at = n => v => (v + Math.floor(n / 2) + .5) / n, X = v => left + wide * at(nx)(v), Y = v => top + high * at(ny)(v);
    const marks = n => n < 4 ? [[0, "0"]] : ticks(-Math.floor(n / 2), Math.ceil(n / 2) - 1, false).filter(([v]) => Number.isInteger(v)).map(([v, text]) => [v, text.replace("-", "−")]);
    axes(s, {X, Y, xticks: marks(nx), yticks: marks(ny), left, right, top, bottom, xname: "distance along x / voxels", yname: "distance along y / voxels"});
    s.append(svg("image", {href: decibels, x: right + 14, y: top, width: 12, height: high, preserveAspectRatio: "none"}), svg("rect", {x: right + 14, y: top, width: 12, height: high, fill: "none", stroke: "var(--soft)"}));
    for (const d of [0, -20, -40, -60]) s.append(svg("text", {x: right + 31, y: top + 4 + Math.max(5, Math.min(high - 5, -d / 60 * high))}, (d ? "−" + -d : "0") + (d === 0 ? " dB" : "")));
    return s;
  }), make("p", {class: "soft"}, "|Q|: what the trajectory alone does to a point, before the solver undoes it" + (p.stride > 1 ? `; of every ${p.stride} × ${p.stride} pixels the brightest.` : ".")));
}
/// The gating signal, its readouts in the colours of their bins: those of bin 0 blue, of the last red.
function gating(g) {
  const count = Math.max(0, ...g.bins) + 1, colour = b => b < 0 ? "var(--soft)" : `hsl(${count > 1 ? 220 - 220 * b / (count - 1) : 220} 75% 50%)`;
  const points = g.signal.map((v, i) => [i * g.stride, v, g.bins[i]]).filter(p => p[1] !== null);
  const drawing = fitted(W => {
    const H = Math.round(Math.min(300, Math.max(220, .4 * W))), left = 62, right = W - 14, top = 10, bottom = H - 46;
    const s = svg("svg", {width: W, height: H, viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": "gating signal against readout"});
    if (!points.length) return s;
    let [y0, y1] = points.reduce(([a, b], p) => [Math.min(a, p[1]), Math.max(b, p[1])], [Infinity, -Infinity]);
    const d = y1 > y0 ? .05 * (y1 - y0) : .5, x1 = Math.max(1, g.readouts - 1);
    y0 -= d, y1 += d;
    const X = v => left + v / x1 * (right - left), Y = v => bottom - (v - y0) / (y1 - y0) * (bottom - top), at = p => X(p[0]).toFixed(1) + " " + Y(p[1]).toFixed(1);
    axes(s, {X, Y, xticks: ticks(0, x1, false), yticks: ticks(y0, y1, false), left, right, top, bottom, xname: "readout", yname: "signal", grid: true});
    s.append(svg("path", {d: "M" + points.map(at).join("L"), fill: "none", stroke: "var(--soft)", "stroke-width": .6}));
    for (let b = -1; b < count; ++b) {
      const path = svg("path", {d: points.filter(p => p[2] === b).map(p => "M" + at(p) + "h0").join(""), fill: "none", stroke: colour(b), "stroke-width": points.length > 1000 ? 2.5 : 4.5, "stroke-linecap": "round"});
      path.append(svg("title", {}, b < 0 ? "in no bin" : `bin ${b}`));
      s.append(path);
    }
    return s;
  });
  const named = (text, b) => make("span", {style: "white-space:nowrap"}, make("b", {style: `color:${colour(b)}`}, "● "), text + "  "), outside = points.some(p => p[2] < 0);
  const shown = [...Array(count).keys()].filter(b => count <= 12 || b === 0 || b === count - 1);
  return card("Gating", drawing, make("p", {class: "soft"}, ...shown.map(b => named(`bin ${b}`, b)), outside ? named("in no bin", -1) : null),
    make("p", {class: "soft"}, `${g.readouts} readouts in ${count} bins, by ${g.source}` + (g.slices > 1 ? `; of the first of ${g.slices} slices` : "") + (g.stride > 1 ? `; one of every ${g.stride} is drawn.` : ".")));
}
function result(r) {
  const body = make("div", {});
  body.append(make("p", {class: "soft"}, r.subtitle));
  const rests = left_over(r);
  body.append(...(is_alarm(r) ? [...model(r), verdict(r)] : [verdict(r), ...model(r)]), viewer(r), ...(rests ? [rests] : []));
  const columns = make("div", {class: "columns"}), add = part => { if (part) columns.append(part); };
  add(certificate(r.certificate));
  add(timings(r));
  if (r.residuals.length > 1) add(card("Convergence", plot({points: r.residuals.map((v, i) => [i, v, `iteration ${i}: ${number(v)}`]), ylog: true, xname: "iteration", yname: "relative residual"}),
    make("p", {class: "soft"}, `${r.residuals.length - 1} iterations` + (r.converged ? "" : ", stopped by the limit") + (r.data_residual === null ? "" : `; |Fρ − d| / |d| = ${number(r.data_residual)}`))));
  if (r.lambda_curve && r.lambda_curve.every(p => is_number(p.risk))) {  // older results had another search
    const at = r.lambda_curve.reduce((a, p) => p.risk < a.risk ? p : a);
    add(card("Choice of λ", plot({points: r.lambda_curve.map(p => [p.lambda, p.risk, `λ = ${number(p.lambda)}: estimated error ${number(p.risk)}, residual ${number(p.data_residual)}`]), xlog: true, xname: "λ over the largest eigenvalue", yname: "estimated error, of the noise", mark: [at.lambda, at.risk]}),
      make("p", {class: "soft"}, `The estimated error of the image (Stein’s unbiased risk) is least at λ = ${number(at.lambda)} of the largest eigenvalue (circle). Its unit is the squared noise of an image of a small λ. |noise| / |d| is ${number(r.noise_residual)}.`)));
  }
  if (r.strength_curve) {
    const at = r.strength_curve.reduce((a, p) => p.risk < a.risk ? p : a);
    add(card("Choice of the strength", plot({points: r.strength_curve.map(p => [p.strength, p.risk, `strength ${number(p.strength)}: estimated error ${number(p.risk)}, residual ${number(p.data_residual)}`]), xlog: true, xname: "strength", yname: "estimated error, of |noise|²", mark: [at.strength, at.risk]}),
      make("p", {class: "soft"}, `Stein’s unbiased estimate of |Eρ − Eρ₀|², ρ₀ the image without noise, is least at ${number(at.strength)} (circle). |noise| / |d| is ${number(r.noise_residual)}.`)));
  }
  if (r.gating) body.append(gating(r.gating));
  if (r.noise) {
    const n = r.noise, wide = (n.point_widths || []).map(p => [`point at ${p.voxel.join(", ")}`, p.width_voxels.filter(w => w > 0).map(w => number(w)).join(" × ") + " voxels" + (p.width_mm.some(w => w > 0) ? " (" + p.width_mm.filter(w => w > 0).map(w => number(w)).join(" × ") + " mm)" : "")]);
    add(card("Noise and sharpness", rows([["standard deviation, unit of the image", number(n.deviation)], ["SNR", number(n.snr)],
      ...(n.g_factor === null ? [] : [["g-factor (99th percentile)", `${number(n.g_factor)} (${number(n.largest_g_factor)})`]]), ...wide]),
      make("p", {class: "soft"}, `Medians over the object, ${n.replicas ? `of ${n.replicas} pseudo-replicas` : "exact"}` + (n.noise_is_measured ? "" : ", the noise estimated without noise readouts") + (wide.length ? "; full widths at half maximum along x, y, z" : "") + ". Maps: /noise in the .h5 file.")));
  }
  if (r.point_spread) add(spread(r.point_spread));
  add(card("Settings", rows(r.settings)));
  add(card("Made with", rows(r.environment)));
  body.append(columns);
  if (r.coil_maps) body.append(coils(r.coil_maps));
  if (r.notes.length) body.append(card("Notes", make("ul", {}, ...r.notes.map(n => make("li", {}, n)))));
  body.append(card("Provenance", rows(r.provenance.map(([k, v]) => [k, make("pre", {}, v)]))));
  return body;
}
function index(d) {
  const filter = make("select", {"aria-label": "which scans", onchange: () => fill()}, ...["all", "failed", "suspicious", "finished"].map(v => make("option", {value: v}, v)));
  const body = make("tbody", {}), scans = d.scans.slice();
  const fill = () => {
    body.replaceChildren();
    for (const s of scans) {
      const {failed, suspicious} = s;
      if (filter.value === "failed" && !failed || filter.value === "suspicious" && !suspicious || filter.value === "finished" && (failed || suspicious)) continue;
      const name = s.page ? make("a", {href: s.page}, s.name) : s.name;
      body.append(make("tr", {}, make("td", {class: "picture"}, s.picture ? make("img", {class: "thumb", src: s.picture, alt: "", loading: "lazy"}) : ""),
        make("td", {}, name, make("div", {class: failed || suspicious ? "why" : "soft"}, s.line || s.path)), make("td", {}, make("span", {class: "pill " + (failed ? "fail" : suspicious ? "amber" : "pass")}, s.status)),
        make("td", {class: "num"}, s.seconds ? seconds(s.seconds) : ""), make("td", {class: "num"}, s.residual ? number(s.residual) : "")));
    }
  };
  // A second click turns the order around; scans without a value come last, either way.
  let sorted = "", sign = 1;
  const missing = v => v === undefined || v === null || v === "";
  const compare = (a, b) => typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), undefined, {numeric: true});
  const sort = key => {
    sign = sorted === key ? -sign : 1;
    sorted = key;
    scans.sort((a, b) => missing(a[key]) || missing(b[key]) ? missing(a[key]) - missing(b[key]) : sign * compare(a[key], b[key]));
    for (const [head, k] of heads) head.setAttribute("aria-sort", k !== key ? "none" : sign > 0 ? "ascending" : "descending");
    fill();
  };
  const heads = [["", ""], ["scan", "name"], ["status", "status"], ["time", "seconds"], ["|Fρ − d| / |d|", "residual"]].map(([text, key], i) =>
    [make("th", {class: i > 2 ? "num" : ""}, key ? make("button", {type: "button", title: "sort", onclick: () => sort(key)}, text) : ""), key]);
  fill();
  return card("Scans", make("div", {class: "label"}, make("span", {}, "Show"), filter), make("div", {class: "scroll"},
    make("table", {class: "index"}, make("thead", {}, make("tr", {}, ...heads.map(([head]) => head))), body)));
}
window.addEventListener("error", e => {
  document.documentElement.setAttribute("data-failed", "1");
  page.append(make("p", {class: "verdict fail"}, "This page could not be drawn: " + e.message));
});
page.replaceChildren(make("h1", {}, data.title), make("p", {class: "soft"}, data.subtitle));
document.title = data.title;
if (data.scans) page.append(index(data));
if (data.results && data.results.length) {
  const place = make("div", {});
  const show = i => {
    fits = [];
    place.replaceChildren(result(data.results[i]));
    fit_all();
  };
  if (data.results.length > 1) page.append(beside(data.results), make("label", {style: "max-width:420px;margin:20px 0 8px"}, make("span", {}, "Details of"), make("select", {"aria-label": "result", onchange: e => show(+e.target.value)}, ...data.results.map((r, i) => make("option", {value: i}, r.title)))));
  page.append(place);
  show(0);
}
document.documentElement.setAttribute("data-ready", performance.now().toFixed(0));
