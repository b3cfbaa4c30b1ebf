// The certificate and the verdict: banners, tables, and pictures of the data that the image leaves over.
/// The verdict with its figures, for the top of the page.
function verdict(r) {
  const c = r.certificate, time = r.seconds > 0 ? [`computed in ${seconds(r.seconds)}`] : [];
  const last = r.residuals[r.residuals.length - 1];
  const stop = r.residuals.length > 1 && !r.converged ? [`stopped after ${r.residuals.length - 1} iterations at residual ${number(last, 2)}`] : [];
  if (!c) return make("div", {class: "verdict none", role: "status"}, "Not certified: this result holds no accuracy check.", make("small", {}, stop.concat(time).join("; ")));
  const {images, certified, failed} = r.certified;
  const part = (name, v) => v === null ? null : `${name} ${number(v, 2)}`;
  const figures = [part("image to samples (F)", c.forward_error), part("samples to image (Fᴴ)", c.adjoint_error), part("both, as solved (FᴴF)", c.normal_error)].filter(t => t).join(", ") || "missing";
  const many = images > 1 ? [(failed ? `${failed} of ${images} images failed` : `${certified} of ${images} images checked`) + "; of the worst, "] : [""];
  const errors = `${many[0]}relative errors: ${figures} (allowed ${number(c.requested)})` + [c.true_residual === null ? null : `true residual ${number(c.true_residual, 2)}`, ...stop, ...time].filter(t => t).map(t => "; " + t).join("");
  if (c.passed && is_alarm(r)) return make("p", {class: "soft", role: "status"}, make("small", {}, "Certified is the arithmetic alone, not the data: " + errors));
  return make("div", {class: "verdict " + (c.passed ? "pass" : "fail"), role: c.passed ? "status" : "alert"},
    c.passed ? "Certified: the operators that made this image are as exact as asked." : "Warning: the accuracy check of this result did not pass.", make("small", {}, errors));
}
/// Whether the verdict of the result is an alarm.
const is_alarm = r => r.verdict !== undefined && r.verdict !== null && r.verdict.judgement === "unexplained";
/// Returns banners: the doubts with their remedies, an alarm of the verdict in large, and the verdict in the words of the program
/// where no doubt says the same.
function model(r) {
  const v = r.verdict, doubts = r.doubts || [], list = [], alarm = is_alarm(r);
  const main = alarm ? doubts.find(d => d.code === "verdict") : undefined, line = d => (d.image ? `image ${d.image}: ` : "") + (d.severity === "warning" ? "the scan: " : "") + d.text;
  if (doubts.length) list.push(make("div", {class: "verdict fail" + (main ? " says headline" : ""), role: "alert"}, main ? line(main) : "Suspicious",
    ...doubts.filter(d => d !== main).map(d => make("small", {}, line(d)))));
  if (v && typeof v.sentence === "string" && !(alarm && doubts.length))
    list.push(make("div", {class: "verdict says " + (alarm ? "fail" : v.judgement === "explained" ? "pass" : "amber"), role: alarm ? "alert" : "status"}, v.sentence + "."));
  return list;
}
const is_number = x => typeof x === "number" && isFinite(x), list_of = x => Array.isArray(x) ? x : [];
const share = x => number(100 * x, 2) + "\u00a0%";
const signal_colour = "var(--soft)", rest_colour = "var(--accent)", noise_colour = "var(--bad)";
/// A drawing of the left over, as wide as its place: `draw` adds to it between left, right, top and bottom.
function small_plot(label, draw) {
  return fitted(W => {
    const H = 230, s = svg("svg", {class: "rest", width: W, height: H, viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": label});
    draw(s, {left: 58, right: W - 10, top: 10, bottom: H - 46});
    return s;
  });
}
const fraction = k => k > 0 && k < 1 ? `1/${number(1 / k)}` : number(k);
/// Signal, what is left of it, and what of that noise explains, in shells {where, name, signal, rest, noise, tip}: root mean squares over that
/// of all samples.
function by_radius(shells) {
  return small_plot("signal and what is left over, by distance from the centre of k-space", (s, {left, right, top, bottom}) => {
    const all = shells.flatMap(m => [m.signal, m.rest, m.noise]).filter(v => v > 0).map(v => 100 * v);
    const y0 = Math.log10(Math.min(...all)) - .15, y1 = Math.log10(Math.max(...all)) + .15;
    const X = i => left + i / shells.length * (right - left), Y = v => bottom - (Math.log10(v) - y0) / (y1 - y0) * (bottom - top);
    axes(s, {X, Y, xticks: [[0, "0"], ...shells.map((m, i) => [i + 1, m.where > 1 ? "" : fraction(m.where)])], yticks: ticks(10 ** y0, 10 ** y1, true).map(([v]) => [v, number(v)]), left, right, top, bottom,
      xname: "|k|, 1 at the edge", yname: "% of the mean signal", grid: true});
    for (const [key, stroke, dashes] of [["signal", signal_colour, ""], ["rest", rest_colour, ""], ["noise", noise_colour, "5 4"]]) {
      const seen = shells.map((m, i) => m[key] > 0 ? `M${X(i)} ${Y(100 * m[key])}H${X(i + 1)}` : "").join("");
      s.append(svg("path", {d: seen, fill: "none", stroke, "stroke-width": 3, "stroke-dasharray": dashes}));
    }
    shells.forEach((m, i) => {
      const place = svg("rect", {x: X(i), y: top, width: X(i + 1) - X(i), height: bottom - top, fill: "transparent"});
      place.append(svg("title", {}, m.tip));
      s.append(place);
    });
  });
}
/// Draws a bar for what is left over of each part; `first`: [the number of the first, how many each bar holds].
function rest_bars(label, xname, values, first, tip) {
  return small_plot(label, (s, {left, right, top, bottom}) => {
    const high = 105 * Math.max(...values, 1e-9), X = i => left + (i - first[0]) / first[1] / values.length * (right - left), Y = v => bottom - v / high * (bottom - top);
    const middle = v => X(v + first[1] / 2), last = first[0] + (values.length - 1) * first[1];
    axes(s, {X: middle, Y, xticks: (values.length > 1 ? ticks(first[0], last, false) : []).filter(([v]) => Number.isInteger(v)), yticks: ticks(0, high, false), left, right, top, bottom, xname, yname: "left over / %", grid: true});
    values.forEach((v, i) => {
      const x = X(first[0] + i * first[1]), width = (right - left) / values.length;
      const bar = svg("rect", {x: x + .1 * width, y: Y(100 * v), width: .8 * width, height: bottom - Y(100 * v), fill: rest_colour});
      bar.append(svg("title", {}, tip(i)));
      s.append(bar);
    });
  });
}
const span_of = values => { const a = share(Math.min(...values)), b = share(Math.max(...values)); return a === b ? a : `${a.slice(0, -2)} to ${b}`; };
/// Returns the findings as sentences: the cause, and what explains at least half as much; without one what a change of the model
/// would explain, ordinary sources, and what other readouts predict of one.
function findings(v) {
  const list = make("ul", {class: "findings"}), say = (text, strong) => list.append(make("li", {}, strong ? make("b", {}, text) : text));
  const is_finding = f => f && typeof f.text === "string", upper = text => text.charAt(0).toUpperCase() + text.slice(1);
  const explains = f => is_number(f.share_of_rest) && f.share_of_rest >= .01 ? `it explains ${percent(f.share_of_rest)} of the power of what is left over` : null;
  const changes = f => is_number(f.image_change) && f.image_change > 0 ? `undoing it changes the image by about ${percent(f.image_change)}` : null;
  const sentence = f => upper([f.text, changes(f), explains(f)].filter(t => t).join("; ") + ".");
  if (is_finding(v.cause)) say(sentence(v.cause), true);
  const least = is_finding(v.cause) ? .5 * (v.cause.share_of_rest || 1) : .1;
  const others = list_of(v.changes).filter(f => is_finding(f) && is_number(f.image_change) && f.image_change >= .02 && f.share_of_rest >= least && !(v.cause && f.code === v.cause.code));
  if (is_alarm({verdict: v})) others.slice(0, 2).forEach(f => say((v.cause ? "Less likely: " : "Would fit better: ") + sentence(f)));
  if (is_finding(v.cause)) return list;
  const ordinary = list_of(v.ordinary).filter(is_finding);
  if (ordinary.length) say("Ordinary sources, each with the share of the power of what is left over that it explains near the centre of k-space: " + ordinary.map(f => `${f.text}, ${percent(f.share_of_rest)}`).join("; ") + ".");
  return list.children.length ? list : null;
}
/// Returns the card of the data that the image leaves over: by radius, coil and readout, and the findings.
function left_over(r) {
  const v = r.verdict;
  if (!v) return null;
  const known = v.noise_is_measured === true, noise = is_number(v.noise_share) && v.noise_share > 0;
  const is_part = m => m && is_number(m.unexplained) && is_number(m.share_of_energy), panels = [];
  const panel = (drawing, title, words) => panels.push(make("figure", {}, drawing, make("figcaption", {}, make("b", {}, title), " " + words)));
  const shells = list_of(v.by_radius).filter(m => is_part(m) && is_number(m.where) && m.samples > 0), all = shells.reduce((a, m) => a + m.samples, 0);
  if (shells.length > 1) {
    shells.forEach((m, i) => {
      m.signal = Math.sqrt(m.share_of_energy * all / m.samples);
      m.rest = m.unexplained * m.signal;
      m.noise = noise && is_number(m.beyond_noise) ? m.signal * Math.sqrt(Math.max(0, m.unexplained ** 2 - m.beyond_noise ** 2)) : 0;
      m.name = m.where > 1 ? "in the corners of k-space" : i === 0 ? `within ${fraction(m.where)} of the way to the edge` : `between ${fraction(shells[i - 1].where)} and ${fraction(m.where)} of the way to the edge`;
      m.tip = `${m.name}: ${share(m.unexplained)} of the signal there is left over` + (known && is_number(m.chi_squared) ? `, χ² ${number(m.chi_squared, 3)}` : "");
    });
    const beyond = m => m.share_of_energy * m.beyond_noise ** 2, most = shells.filter(m => is_number(m.beyond_noise)).reduce((a, m) => !a || beyond(m) > beyond(a) ? m : a, null);
    const words = !most ? "Too few samples tell signal from noise." : most.beyond_noise > 0 ? `Most is left over beyond noise ${most.name}: ${share(most.beyond_noise)} of the signal there.` : is_alarm(r) && !known ? "A mistake that leaves over as much everywhere counts as noise here." : "Nowhere is more left over than noise leaves.";
    panel(by_radius(shells), "By distance from the centre of k-space.", words);
  }
  const coils = list_of(v.by_coil).filter(is_part);
  if (coils.length > 1) {
    const rests = coils.map(m => m.unexplained * Math.sqrt(m.share_of_energy * coils.length));
    panel(rest_bars("what is left over, by coil", "coil, as used", rests, [0, 1], i => `coil ${i}: ${share(rests[i])}, which is ${share(coils[i].unexplained)} of the signal of this coil`), "By coil.", `${span_of(rests)} of the mean signal.`);
  }
  const readouts = list_of(v.by_readout), each = v.readouts_per_group;
  if (readouts.length > 1 && readouts.every(is_number) && each >= 1)
    panel(rest_bars("what is left over, by readout", "readout", readouts, [0, each], i => (each > 1 ? `readouts from ${i * each} on` : `readout ${i}`) + `: ${share(readouts[i])}`), each > 1 ? `By readout, ${each} to a bar.` : "By readout.", `${span_of(readouts)} of the mean signal.`);
  const asked = findings(v);
  if (!panels.length && !asked) return null;
  const key = (colour, name, dashed) => make("span", {}, make("i", {style: `border-top-color:${colour}` + (dashed ? ";border-top-style:dashed" : "")}), name);
  const many = r.certified && r.certified.images > 1 ? ` (the worst of ${r.certified.images} images)` : "";
  return card("What the image leaves over of the data" + many,
    make("p", {class: "soft"}, known ? `The noise is known from noise readouts: χ² is ${number(v.chi_squared)}, and 1 where nothing but noise is left over. ` : noise ? "The noise is not measured but estimated: as the least that is left over at any distance from the centre of k-space. " : "",
      "All figures are root mean squares; the mean signal is that of all samples."),
    make("p", {class: "soft legend"}, shells.length > 1 ? key(signal_colour, "signal") : null, key(rest_colour, "left over"), shells.some(m => m.noise > 0) ? key(noise_colour, "of it explained by noise" + (known ? "" : ", estimated"), true) : null),
    make("div", {class: "panels rests"}, ...panels), asked);
}
function certificate(c) {
  if (!c) return null;
  return card("Accuracy certificate",
    make("p", {class: "soft"}, `Checked on this very result against double-precision direct sums at ${c.voxels} random voxels` + (c.samples ? ` and ${c.samples} random samples` : "") + "; the allowed relative error is " + number(c.requested) + "."),
    rows([["error of F (image to samples)", c.forward_error], ["error of Fᴴ (samples to image)", c.adjoint_error], ["error of FᴴF (as solved)", c.normal_error],
      ["F and Fᴴ are adjoint to within", c.adjointness], ["true residual of the solution", c.true_residual], ["residual the solver reports", c.solver_residual]].map(([k, v]) => [k, v === null ? "not checked" : number(v, 2)])));
}
