"use strict";
/* The explorer: everything on the page follows from `state`; `render` draws it, `change` edits it. */
(async () => {
  const $ = id => document.getElementById(id);
  const data = JSON.parse($("data").textContent);
  const { sides, axes, measures } = data;
  const last = sides.length - 1, two = sides.length === 2, { count } = data;
  const axisNumber = Object.fromEntries(axes.map((axis, place) => [axis.name, place]));
  const measureOf = Object.fromEntries(measures.map(measure => [measure.name, measure]));
  const at = (row, axis) => data.rows.axes[axisNumber[axis]][row];

  async function unpack(text) {
    const bytes = Uint8Array.from(atob(text), letter => letter.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"))).json();
  }
  data.rows = await unpack(data.rows);
  data.known = await Promise.all(data.known.map(unpack));
  const columns = await Promise.all(sides.map(async (_, side) => Object.fromEntries(await Promise.all(
    measures.map(async ({ name }) => [name, await unpack(data.columns[side][name])])))));
  const differences = Object.fromEntries(await Promise.all(
    Object.entries(data.differences).map(async ([name, text]) => [name, await unpack(text)])));

  /* Text ------------------------------------------------------------------------------------------------------- */
  const form = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });
  const number = value => value === null || value === undefined ? "–" : Math.abs(value) === Infinity ? "no bound" : form.format(value);
  const unitOf = name => measureOf[name] && measureOf[name].unit ? measureOf[name].unit : "";
  const withUnit = (label, unit) => unit ? `${label} (${unit})` : label;
  const measureLabel = name => measureOf[name] ? withUnit(measureOf[name].label, unitOf(name)) : name;
  const axisLabel = axis => withUnit(axis.label, axis.unit && !axis.label.includes("(") ? axis.unit : "");
  const valueName = (axis, value) => axis.names[value] !== axis.texts[value] ? axis.names[value] : `${axis.label} = ${axis.texts[value]}`;
  const pointName = row => axes.map((axis, place) => valueName(axis, data.rows.axes[place][row])).join(", ") || "the only point";
  const signed = value => value > 0 ? `+${number(value)}` : number(value);
  const interval = (mean, half) => half === null || half === undefined || mean === null ? "" : half === 0 ? "no spread" : `${number(mean - half)} to ${number(mean + half)}`;
  const inSentence = label => /^.[a-z ]/.test(label) ? label[0].toLowerCase() + label.slice(1) : label;
  const percent = share => share === null || !isFinite(share) ? "–" : `${share > 0 ? "+" : ""}${form.format(Number((100 * share).toPrecision(3)))} %`;
  function element(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
      else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value === true ? "" : value);
    }
    made.append(...children.filter(child => child !== null && child !== undefined));
    return made;
  }
  const say = text => { $("status").textContent = text; };

  /* State ------------------------------------------------------------------------------------------------------ */
  function beginning() {
    const start = data.start;
    const y = measureOf[start.y] ? start.y : (measures[0] || { name: "" }).name;
    const y2 = measureOf[start.y2] && start.y2 !== y ? start.y2 : (measures.find(measure => measure.name !== y) || { name: y }).name;
    const varied = axes.filter(axis => axis.texts.length > 1).map(axis => axis.name);
    const fixed = Object.fromEntries(axes.map(axis => [axis.name, Math.max(start.at[axis.name] || 0, 0)]));
    return {
      y, y2, x: start.x, by: start.by.filter(axis => axis !== start.x), at: fixed,
      zero: false, logx: false, logy: false, ranges: {}, hidden: {}, point: null, theme: "system",
      dims: [...varied.map(axis => `@${axis}`), ...new Set([y, y2])].slice(0, 8),
    };
  }
  let state = beginning();
  try {
    const kept = JSON.parse(decodeURIComponent(location.hash.slice(1)));
    if (kept && measureOf[kept.y] && measureOf[kept.y2] && (kept.x === "" || kept.x in axisNumber) && (kept.point === null || kept.point < count)) state = { ...state, ...kept };
  } catch { /* a page without a stored view */ }
  function keep() {
    try { history.replaceState(null, "", `#${encodeURIComponent(JSON.stringify(state))}`); } catch { /* a frame of a notebook has no address */ }
  }

  /* Selection -------------------------------------------------------------------------------------------------- */
  const isAxis = dim => dim.startsWith("@");
  const isOrdinal = axis => !axis.numbers || axis.texts.length <= 12;
  function dimLabel(dim) { // the texts of ordinal values have units
    if (!isAxis(dim)) return measureLabel(dim);
    const axis = axes[axisNumber[dim.slice(1)]];
    return isOrdinal(axis) ? axis.label : axisLabel(axis);
  }
  function valueOf(dim, row) {
    if (!isAxis(dim)) return columns[last][dim].mean[row];
    const place = at(row, dim.slice(1)), axis = axes[axisNumber[dim.slice(1)]];
    return isOrdinal(axis) ? place : axis.numbers[place];
  }
  const known = data.known[last];
  function isSelected(row, without = () => false) {
    for (const [name, values] of Object.entries(state.hidden)) {
      const value = name === "bottleneck" ? known.bottleneck[row] : at(row, name.slice(1));
      if (values.includes(value)) return false;
    }
    return Object.entries(state.ranges).every(([dim, ranges]) => {
      if (without(dim)) return true;
      const value = valueOf(dim, row);
      return value !== null && ranges.some(([low, high]) => value >= low && value <= high);
    });
  }
  let selected = [];

  /* Lines of the curve ------------------------------------------------------------------------------------------ */
  const SYMBOLS = ["circle", "rect", "triangle", "diamond", "path://M-5,5L0,-5L5,5L0,2Z", "path://M-2,-5H2V-2H5V2H2V5H-2V2H-5V-2H-2Z", "pin", "arrow"];
  const DASHES = ["solid", [6, 3], [2, 2], [8, 3, 2, 3], [10, 3], [4, 2, 2, 2, 2, 2], [3, 3], [5, 2]];
  const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const isDark = () => document.documentElement.dataset.theme === "dark";
  function colourOf(place) {
    const colour = data.looks[place % data.looks.length];
    if (!isDark()) return colour;
    const parts = [1, 3, 5].map(start => parseInt(colour.slice(start, start + 2), 16));
    return `rgb(${parts.map(part => Math.round(part + .35 * (255 - part))).join(",")})`;
  }
  const look = place => {
    const turn = 3 * Math.floor(place / 8);
    return { colour: colourOf(place), symbol: SYMBOLS[(place + turn) % 8], dash: DASHES[(place + turn) % 8] };
  };
  function lineKey(row) { return state.by.map(axis => at(row, axis)).join("/"); }
  function allLines() {
    const found = new Map();
    for (let row = 0; row < count; row++) {
      const key = lineKey(row);
      if (!found.has(key)) found.set(key, { key, row, look: look(found.size), name: state.by.map(axis => valueName(axes[axisNumber[axis]], at(row, axis))).join(", ") });
    }
    return found;
  }
  let lines = new Map();
  const xAxis = () => axes[axisNumber[state.x]];
  const isNumeric = axis => Boolean(axis && axis.numbers);
  const xOf = row => !xAxis() ? 0 : isNumeric(xAxis()) ? xAxis().numbers[at(row, state.x)] : at(row, state.x);
  const isInSlice = row => axes.every(axis => axis.name === state.x || state.by.includes(axis.name) || at(row, axis.name) === state.at[axis.name]);
  const isHidden = row => axes.some(axis => (state.hidden[`@${axis.name}`] || []).includes(at(row, axis.name)));

  /* Charts ------------------------------------------------------------------------------------------------------ */
  const tip = $("tip");
  function showTip(text, left, top) {
    tip.textContent = text;
    tip.hidden = false;
    tip.style.left = `${Math.max(4, Math.min(left + 14, innerWidth - tip.offsetWidth - 4))}px`;
    tip.style.top = `${top + 16 + tip.offsetHeight > innerHeight ? Math.max(4, top - tip.offsetHeight - 12) : top + 16}px`;
  }
  const hideTip = () => { tip.hidden = true; };
  const REACH = 28;

  /** A chart of points that mouse and keyboard reach; `points` are its rows with values and line, `words` describes one. */
  class PointChart {
    constructor(parent, label, words) {
      this.box = element("div", { class: "chart", tabindex: 0, role: "application", "aria-label": label });
      parent.append(this.box);
      this.chart = echarts.init(this.box);
      this.words = words;
      this.points = [];
      this.place = -1;
      const zr = this.chart.getZr();
      zr.on("mousemove", event => this.hover(event.offsetX, event.offsetY));
      zr.on("globalout", () => this.leave());
      zr.on("click", event => { const found = this.nearest(event.offsetX, event.offsetY); if (found >= 0) open(this.points[found].row); });
      this.box.addEventListener("keydown", event => this.key(event));
      this.box.addEventListener("blur", () => this.leave());
    }
    pixels() {
      if (!this.cache) this.cache = this.points.map(({ x, y, shift = 0 }) => { const [left, top] = this.chart.convertToPixel({ xAxisIndex: 0, yAxisIndex: 0 }, [x, y]) || [NaN, NaN]; return [left + shift, top]; });
      return this.cache;
    }
    nearest(left, top) {
      let best = -1, least = REACH * REACH;
      this.pixels().forEach(([x, y], place) => {
        const apart = (x - left) ** 2 + (y - top) ** 2;
        if (apart < least) { least = apart; best = place; }
      });
      return best;
    }
    hover(left, top) {
      const found = this.nearest(left, top);
      if (found < 0) return this.leave();
      this.mark(found);
      return undefined;
    }
    mark(place) {
      this.place = place;
      const [x, y] = this.pixels()[place], box = this.box.getBoundingClientRect();
      this.chart.getZr().remove(this.ring);
      this.ring = new echarts.graphic.Circle({ shape: { cx: x, cy: y, r: 8 }, style: { fill: "none", stroke: css("--ink"), lineWidth: 1.6 }, silent: true, z: 99 });
      this.chart.getZr().add(this.ring);
      showTip(this.words(this.points[place].row), box.left + x, box.top + y);
    }
    leave() {
      this.chart.getZr().remove(this.ring);
      hideTip();
    }
    key(event) {
      const step = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] }[event.key];
      if (event.key === "Escape") return this.leave();
      if ((event.key === "Enter" || event.key === " ") && this.place >= 0) { event.preventDefault(); open(this.points[this.place].row); return undefined; }
      if (!step || !this.points.length) return undefined;
      event.preventDefault();
      let place = Math.min(this.place, this.points.length - 1);
      if (place < 0) place = 0;
      else if (step[0]) {
        const next = place + step[0];
        if (this.points[next] && this.points[next].line === this.points[place].line) place = next;
      } else {
        const keys = [...new Set(this.points.map(point => point.line))], here = this.points[place];
        const line = keys[keys.indexOf(here.line) + step[1]];
        const others = this.points.map((point, index) => ({ point, index })).filter(({ point }) => point.line === line);
        if (others.length) place = others.reduce((best, one) => Math.abs(one.point.x - here.x) < Math.abs(best.point.x - here.x) ? one : best).index;
      }
      this.mark(place);
      say(this.words(this.points[place].row).replaceAll("\n", "; "));
      return undefined;
    }
    draw(option, points) {
      this.cache = null;
      this.points = points;
      this.place = -1;
      this.leave();
      this.chart.setOption({ animation: false, textStyle: { fontFamily: "inherit", color: css("--ink") }, ...option }, true);
    }
    resize() { this.cache = null; this.leave(); this.chart.resize(); }
  }
  const text = () => ({ color: css("--ink"), fontSize: 12 });
  const axisStyle = () => ({
    axisLabel: { color: css("--ink"), hideOverlap: true }, axisLine: { show: true, lineStyle: { color: css("--edge") } },
    splitLine: { lineStyle: { color: css("--line") } }, axisTick: { lineStyle: { color: css("--edge") } }, nameTextStyle: text(),
  });
  /** Round ends of an axis around values. */
  function ends(values, { zero = false, log = false } = {}) {
    const finite = values.filter(value => value !== null && isFinite(value) && (!log || value > 0));
    if (!finite.length) return {};
    let low = finite.reduce((least, value) => Math.min(least, value), Infinity), high = finite.reduce((most, value) => Math.max(most, value), -Infinity);
    if (log) return { min: 10 ** Math.floor(Math.log10(low)), max: 10 ** Math.ceil(Math.log10(high) + 1e-9) };
    if (zero) { low = Math.min(low, 0); high = Math.max(high, 0); }
    if (low === high) { const room = Math.abs(low) / 2 || 1; low -= low > 0 ? Math.min(room, low) : room; high += room; }
    const rough = (high - low) / 5, power = 10 ** Math.floor(Math.log10(rough));
    const step = power * [1, 2, 5, 10].find(factor => factor * power >= rough * .999);
    const tidy = value => Number(value.toPrecision(12));
    return { min: tidy(step * Math.floor(low / step + 1e-9)), max: tidy(step * Math.ceil(high / step - 1e-9)), interval: tidy(step) };
  }
  const clean = (value, log) => value === null || !isFinite(value) || (log && value <= 0) ? null : value;
  const grid = () => ({ left: 12, right: 24, top: 34, bottom: 34, containLabel: true });
  function yOption(label, range, log) {
    return { type: log ? "log" : "value", name: label, nameLocation: "end", nameGap: 14, ...axisStyle(), nameTextStyle: { ...text(), align: "left", padding: [0, 0, 0, -20] }, ...range };
  }
  function xOption(axis, log, values) {
    if (!axis) return { type: "category", data: [""], ...axisStyle() };
    const shared = { name: axisLabel(axis), nameLocation: "middle", nameGap: 26, ...axisStyle() };
    if (!isNumeric(axis)) return { type: "category", data: axis.names, boundaryGap: true, ...shared };
    return { type: log ? "log" : "value", ...ends(values, { log }), scale: true, ...shared };
  }
  /** Bars from low to high at x; a missing end reaches to the edge of the chart. */
  function bars(list, colour, { width = 1.4, cap = 4, opacity = 1, shift = 0, dash = null, z = 3 } = {}) {
    return {
      type: "custom", silent: true, z, clip: true, data: list.map(one => [one.x, one.low, one.high]), encode: { x: 0, y: [1, 2] },
      renderItem(params, api) {
        const one = list[params.dataIndex], area = params.coordSys;
        const [left, from] = one.low === null ? [api.coord([one.x, 0])[0], area.y + area.height] : api.coord([one.x, one.low]);
        const to = one.high === null ? area.y : api.coord([one.x, one.high])[1], x = left + shift;
        const style = { stroke: one.colour || colour, lineWidth: width, opacity, lineDash: dash, fill: "none" };
        const shapes = [[x, from, x, to]];
        if (cap) shapes.push([x - cap, from, x + cap, from], [x - cap, to, x + cap, to]);
        return { type: "group", children: shapes.map(([x1, y1, x2, y2]) => ({ type: "line", shape: { x1, y1, x2, y2 }, style })) };
      },
    };
  }

  const curves = [];
  const CURVE = "Chart of the measure against the x axis. Arrow keys move from point to point, Enter opens one.";
  function makeCurves() {
    const labels = two ? [...sides.map(side => side.name), "Difference"] : [""];
    $("curves").classList.toggle("two", two);
    labels.forEach((label, place) => {
      const box = element("div", {}, ...(label ? [element("h3", {}, label)] : []));
      $("curves").append(box);
      const words = place > last ? differenceWords : row => pointWords(row, place);
      curves.push(new PointChart(box, label ? `${label}: ${CURVE}` : CURVE, words));
    });
    curves.forEach(chart => chart.resize()); // the first one had the whole width to itself
  }
  function measureWords(name, row, side) {
    const column = columns[side][name], mean = column.mean[row], half = column.half[row];
    const found = [`${measureOf[name].label}: ${number(mean)} ${unitOf(name)}`.trim()];
    if (interval(mean, half)) found.push(`  95 % interval ${interval(mean, half)}`);
    if (column.plow && column.plow[row] !== null) found.push(`  90 % prediction ${number(column.plow[row])} to ${number(column.phigh[row])}`);
    return found;
  }
  function limitWords(facts, row, name) { // of the subject of the measure, else of the host
    const [, subject] = name.split(" of "), column = facts.limits[subject] || facts.bottleneck;
    return `Bottleneck${facts.limits[subject] ? ` of ${subject}` : ""}: ${facts.bottlenecks[column[row]] || "not known"}`;
  }
  function pointWords(row, side = last) {
    const facts = data.known[side], flag = facts.flags[facts.flag[row]];
    const words = [pointName(row), ...measureWords(state.y, row, side)];
    words.push(limitWords(facts, row, state.y));
    words.push(`${facts.runs[row]} run${facts.runs[row] === 1 ? "" : "s"}${facts.failed[row] ? `, ${facts.failed[row]} failed` : ""}`);
    if (flag) words.push(flag);
    return words.join("\n");
  }
  const pairWords = row => [pointName(row), ...measureWords(state.y, row, last), ...measureWords(state.y2, row, last), limitWords(known, row, state.y)].join("\n");
  function differenceWords(row) {
    const apart = differences[state.y];
    return [pointName(row), `${measureOf[state.y].label}: ${number(columns[0][state.y].mean[row])} → ${number(columns[1][state.y].mean[row])} ${unitOf(state.y)}`,
      `Difference: ${signed(apart.mean[row])} (${percent(change(state.y, row))})`, interval(apart.mean[row], apart.half[row]) ? `  95 % interval ${interval(apart.mean[row], apart.half[row])}` : "  no interval: one pair of runs"].join("\n");
  }
  function change(name, row) {
    const apart = differences[name].mean[row], before = columns[0][name].mean[row];
    return apart === null || before === null ? null : apart === 0 ? 0 : before ? apart / Math.abs(before) : Infinity;
  }
  /** Published values about the points of the slice: bands and numbers at points, thresholds on the x axis. */
  function publishedHere() {
    const inLine = where => axes.every(axis => axis.name === state.x || !(axis.name in where) || (state.by.includes(axis.name) ? where[axis.name] >= 0 : where[axis.name] === state.at[axis.name]));
    const lineOf = where => [...lines.values()].find(line => state.by.every(axis => !(axis in where) || at(line.row, axis) === where[axis]));
    const points = [], thresholds = [];
    for (const claim of data.claims) {
      for (const { measure, at: where } of claim.points) {
        if (measure !== state.y || !inLine(where) || (state.x && !(where[state.x] >= 0))) continue;
        const line = lineOf(where);
        if (!line) continue;
        const x = !xAxis() ? 0 : isNumeric(xAxis()) ? xAxis().numbers[where[state.x]] : where[state.x];
        points.push({ x, low: claim.low, high: claim.high, number: claim.number, name: claim.published, claim: claim.claim, colour: line.look.colour });
      }
      const threshold = claim.threshold;
      if (threshold && threshold.measure === state.y && threshold.axis === state.x && isNumeric(xAxis()) && inLine(threshold.at)) {
        const line = lineOf(threshold.at);
        if (line) thresholds.push({ ...threshold, name: claim.published, claim: claim.claim, colour: line.look.colour });
      }
    }
    return { points, thresholds };
  }
  function thresholdSeries(thresholds) {
    return {
      type: "custom", silent: true, z: 1, data: thresholds.map((one, place) => [one.low, one.high, place]), encode: { x: [0, 1], y: [] },
      renderItem(params, api) {
        const one = thresholds[params.dataIndex], area = params.coordSys, edge = area.x + area.width;
        const inside = x => Math.max(area.x, Math.min(edge, x)), y0 = api.value(3) || 0;
        const place = value => inside(api.coord([value, y0])[0]);
        const left = one.low === null ? area.x : place(one.low), right = one.high === null ? edge : place(one.high), top = area.y + 4 + 15 * (params.dataIndex % 5);
        const onLeft = right + 120 > edge;
        return { type: "group", children: [
          { type: "rect", shape: { x: left, y: area.y, width: Math.max(right - left, 2), height: area.height }, style: { fill: one.colour, opacity: .1 } },
          { type: "text", style: { text: `${one.claim ? "published" : "accepted"} ${one.name}`, x: onLeft ? left - 4 : right + 4, y: top, fill: css("--ink"), fontSize: 11, align: onLeft ? "right" : "left", backgroundColor: css("--paper"), padding: [1, 2] } },
        ] };
      },
    };
  }
  /** The lines without points that sides have not run, so that a line connects the points beside them. */
  const withRuns = (groups, ...of) => new Map([...groups].map(([key, rows]) => [key, rows.filter(row => of.every(side => data.known[side].runs[row]))]));
  function drawCurves() {
    const rows = [];
    for (let row = 0; row < count; row++) if (isInSlice(row) && !isHidden(row)) rows.push(row);
    rows.sort((one, other) => xOf(one) - xOf(other));
    const groups = new Map();
    for (const row of rows) { const key = lineKey(row); groups.set(key, [...(groups.get(key) || []), row]); }
    const { points: published, thresholds } = publishedHere();
    const reach = [];
    for (const side of columns) for (const row of rows) {
      const { mean, half, plow, phigh } = side[state.y];
      reach.push(mean[row]);
      if (half[row] !== null && isFinite(mean[row])) reach.push(mean[row] - half[row], mean[row] + half[row]);
      if (plow && plow[row] !== null) reach.push(plow[row], phigh[row]);
    }
    reach.push(...published.flatMap(one => [one.low, one.high, one.number]));
    const negative = columns.some(side => rows.some(row => side[state.y].mean[row] < 0));
    const range = ends(negative ? reach : reach.map(value => value === null ? value : Math.max(value, 0)), { zero: state.zero, log: state.logy }), xs = rows.map(xOf);
    columns.forEach((_, side) => drawSide(side, withRuns(groups, side), range, xs, published, thresholds));
    if (two) drawDifference(withRuns(groups, 0, 1), xs);
    const boundless = rows.filter(row => columns[last][state.y].mean[row] === Infinity).length;
    $("curve-title").textContent = `${measureLabel(state.y)} against ${xAxis() ? inSentence(axisLabel(xAxis())) : "the only point"}`;
    const legend = element("ul", { class: "legend", "aria-label": "Lines" });
    const named = [...groups.keys()].map(key => lines.get(key)).filter(line => line.name);
    for (const line of named.slice(0, 24)) legend.append(element("li", {}, swatch(line.look), line.name));
    if (named.length > 24) legend.append(element("li", {}, `and ${named.length - 24} more`));
    if (published.length) legend.append(element("li", {}, "◆ published or accepted, with its band"));
    if (thresholds.length) legend.append(element("li", {}, "shaded: published or accepted threshold"));
    if (data.ensemble) legend.append(element("li", {}, "wide bar: 90 % prediction interval"));
    if (boundless) legend.append(element("li", {}, `${boundless} point${boundless === 1 ? " has" : "s have"} no bound and cannot be drawn`));
    $("curves").parentElement.querySelector(".legend")?.remove();
    $("curves").before(legend);
    figureCommands();
    return groups;
  }
  function swatch({ colour, dash }) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    made.setAttribute("width", 30); made.setAttribute("height", 12); made.setAttribute("aria-hidden", "true");
    const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
    for (const [name, value] of Object.entries({ x1: 0, x2: 30, y1: 6, y2: 6, stroke: colour, "stroke-width": 2.5, ...(dash === "solid" ? {} : { "stroke-dasharray": dash.join(" ") }) })) line.setAttribute(name, value);
    made.append(line);
    return made;
  }
  function seriesOf(groups, column, log, pick = row => column.mean[row]) {
    const series = [], points = [], apart = isNumeric(xAxis()) ? 0 : Math.min(14, 90 / groups.size);
    let shift = -apart * (groups.size - 1) / 2; // lines at the same place of an axis without numbers stand side by side
    for (const [key, rows] of groups) {
      const { look: { colour, symbol, dash }, name } = lines.get(key);
      const shown = rows.map(row => ({ row, x: xOf(row), y: clean(pick(row), log) }));
      series.push({
        type: "line", name, symbol, symbolSize: 7, symbolOffset: [shift, 0], showAllSymbol: true, showSymbol: true, silent: true, z: 4, clip: false,
        lineStyle: { color: colour, width: isNumeric(xAxis()) ? 1.8 : 0, type: dash }, itemStyle: { color: colour },
        data: shown.map(({ row, x, y }) => ({ value: [x, y], itemStyle: { opacity: selected[row] ? 1 : .2 } })),
      });
      const here = shift;
      points.push(...shown.filter(({ y, x }) => y !== null && !(state.logx && x <= 0)).map(point => ({ ...point, line: key, shift: here })));
      const reach = (low, high) => shown.filter(({ y }) => y !== null).map(({ row, x, y }) => ({ x, low: low(row, y), high: high(row, y) })).filter(one => one.low !== null && one.high !== null && isFinite(one.low) && isFinite(one.high)).map(one => log && one.low <= 0 ? { ...one, low: null } : one);
      if (column.plow) series.push(bars(reach(row => column.plow[row], row => column.phigh[row]), colour, { width: 7, cap: 0, opacity: .22, z: 2, shift }));
      series.push(bars(reach((row, y) => column.half[row] === null ? null : y - column.half[row], (row, y) => column.half[row] === null ? null : y + column.half[row]).filter(one => one.low !== one.high), colour, { shift }));
      shift += apart;
    }
    return { series, points };
  }
  function drawSide(side, groups, range, xs, published, thresholds) {
    const { series, points } = seriesOf(groups, columns[side][state.y], state.logy);
    if (published.length) {
      series.push(bars(published.filter(one => one.low !== null || one.high !== null), css("--ink"), { shift: 7, cap: 3, width: 1.4, dash: [3, 2], z: 6 }));
      series.push({ type: "scatter", symbol: "diamond", symbolSize: 11, symbolOffset: [7, 0], silent: true, z: 7, data: published.filter(one => one.number !== null).map(one => [one.x, one.number]), itemStyle: { color: css("--paper"), borderColor: css("--ink"), borderWidth: 1.6 } });
    }
    if (thresholds.length) series.push(thresholdSeries(thresholds));
    curves[side].draw({ grid: grid(), xAxis: xOption(xAxis(), state.logx, xs), yAxis: yOption(measureLabel(state.y), range, state.logy), series }, points);
  }
  function drawDifference(groups, xs) {
    const apart = differences[state.y], rows = [...groups.values()].flat();
    const { series, points } = seriesOf(groups, apart, false);
    const reach = rows.flatMap(row => apart.mean[row] === null ? [] : [apart.mean[row], apart.mean[row] - (apart.half[row] || 0), apart.mean[row] + (apart.half[row] || 0)]);
    const axis = xOption(xAxis(), state.logx, xs);
    curves[2].draw({ grid: grid(), xAxis: { ...axis, axisLine: { ...axis.axisLine, onZero: true } }, yAxis: yOption(`After less before${unitOf(state.y) ? ` (${unitOf(state.y)})` : ""}`, ends(reach, { zero: true }), false), series }, points);
  }

  /* Two measures ------------------------------------------------------------------------------------------------ */
  let pair = null;
  function makePair() {
    pair = new PointChart($("pair"), "Chart of two measures, a mark for each point. Arrow keys move from point to point, Enter opens one.", pairWords);
    pair.chart.on("brushEnd", ({ areas }) => {
      if (!areas.length) return;
      const [[x0, x1], [y0, y1]] = areas[0].coordRange;
      pair.chart.dispatchAction({ type: "brush", areas: [] });
      change_({ ranges: { ...state.ranges, [state.y2]: [[Math.min(x0, x1), Math.max(x0, x1)]], [state.y]: [[Math.min(y0, y1), Math.max(y0, y1)]] } });
    });
  }
  function drawPair() {
    const column = columns[last], x = row => clean(column[state.y2].mean[row], false), y = row => clean(column[state.y].mean[row], state.logy);
    const groups = new Map(), faded = [], points = [];
    for (let row = 0; row < count; row++) {
      if (x(row) === null || y(row) === null) continue;
      if (!selected[row]) { faded.push([x(row), y(row)]); continue; }
      const key = lineKey(row);
      if (!groups.has(key)) groups.set(key, []);
      groups.get(key).push(row);
    }
    const series = [{ type: "scatter", symbolSize: 5, large: faded.length > 1000, silent: true, data: faded, itemStyle: { color: css("--edge"), opacity: .25 }, z: 1 }];
    for (const [key, rows] of groups) {
      rows.sort((one, other) => x(one) - x(other));
      const { colour, symbol } = lines.get(key).look;
      series.push({ type: "scatter", name: lines.get(key).name, symbol, symbolSize: count > 2000 ? 4 : 8, large: rows.length > 2000, silent: true, z: 2, itemStyle: { color: colour, opacity: .8 }, data: rows.map(row => [x(row), y(row)]) });
      for (const row of rows) points.push({ row, x: x(row), y: y(row), line: key });
    }
    const all = series.flatMap(one => one.data);
    $("pair-title").textContent = `${measureOf[state.y] ? measureOf[state.y].label : ""} against ${measureOf[state.y2] ? inSentence(measureOf[state.y2].label) : ""}`;
    pair.draw({
      grid: grid(), series, toolbox: { show: false }, brush: { xAxisIndex: 0, yAxisIndex: 0, throttleType: "debounce", throttleDelay: 100, brushStyle: { color: "rgba(90,130,180,.15)", borderColor: css("--accent") }, outOfBrush: {} },
      xAxis: { type: "value", name: measureLabel(state.y2), nameLocation: "middle", nameGap: 26, ...axisStyle(), ...ends(all.map(one => one[0])) },
      yAxis: yOption(measureLabel(state.y), ends(all.map(one => one[1]), { log: state.logy, zero: state.zero }), state.logy),
    }, points);
    pair.chart.dispatchAction({ type: "takeGlobalCursor", key: "brush", brushOption: { brushType: "rect", brushMode: "single" } });
  }

  /* Parallel coordinates ---------------------------------------------------------------------------------------- */
  let parallel = null, parallelRows = [], parallelKey = "";
  function makeParallel() {
    const box = element("div", { class: "chart", role: "img", "aria-label": "Parallel coordinates: a line for each point across the chosen axes and measures. Filters and the table of points offer the same by keyboard." });
    $("parallel").append(box);
    parallel = echarts.init(box);
    parallel.on("axisareaselected", event => {
      const dim = (event.parallelAxisId || "").slice(2);
      if (!dim || !state.dims.includes(dim)) return;
      const ranges = { ...state.ranges };
      if (event.intervals.length) ranges[dim] = event.intervals.map(one => [Math.min(...one), Math.max(...one)]); else delete ranges[dim];
      change_({ ranges }, { keepParallel: true });
    });
    parallel.on("click", event => { if (event.componentType === "series" && parallelRows[event.dataIndex] !== undefined) open(parallelRows[event.dataIndex]); });
  }
  function drawParallel(brushed) {
    const narrow = parallel.getDom().parentElement.clientWidth < 600, dims = state.dims.filter(dim => isAxis(dim) ? dim.slice(1) in axisNumber : measureOf[dim]);
    parallel.getDom().style.height = narrow ? `${Math.max(12, 4.6 * dims.length + 2)}rem` : "";
    parallel.resize();
    const inDims = new Set(dims), others = Object.entries(state.ranges).filter(([dim]) => !inDims.has(dim));
    const key = JSON.stringify([dims, others, state.hidden, state.by, isDark(), parallel.getWidth(), brushed ? 0 : state.ranges]);
    if (key === parallelKey) return; // ten thousand lines take a moment
    parallelKey = key;
    parallelRows = [];
    for (let row = 0; row < count; row++) if (isSelected(row, dim => inDims.has(dim))) parallelRows.push(row);
    const dark = css("--ink"), many = parallelRows.length > 1000;
    const wrapped = label => narrow ? label : label.length > 18 ? label.replace(/(.{10,}?)\s/g, "$1\n") : label;
    const titles = dims.map(dim => wrapped(dimLabel(dim))), titleLines = Math.max(1, ...titles.map(title => title.split("\n").length));
    parallel.setOption({
      animation: false, textStyle: { fontFamily: "inherit" },
      parallel: narrow ? { layout: "vertical", left: 20, right: 30, top: 34, bottom: 30 } : { left: 60, right: 80, top: 22 + 13 * titleLines, bottom: 24 },
      parallelAxis: dims.map((dim, place) => {
        const axis = isAxis(dim) ? axes[axisNumber[dim.slice(1)]] : null;
        const shared = { id: `d:${dim}`, dim: place, name: titles[place], nameLocation: narrow ? "start" : "end", nameGap: narrow ? 6 : 12, nameTextStyle: { color: dark, fontSize: 11, lineHeight: 13, textBorderColor: css("--paper"), textBorderWidth: 3, ...(narrow ? { align: "left", verticalAlign: "bottom", padding: [0, 0, 14, 0] } : {}) }, axisLabel: { color: dark, fontSize: 11, hideOverlap: true, backgroundColor: css("--paper"), padding: [2, 3] }, axisLine: { lineStyle: { color: css("--edge") } }, areaSelectStyle: { width: narrow ? 26 : 20, color: css("--accent"), borderColor: css("--accent"), opacity: .25 } };
        if (axis && isOrdinal(axis)) return { ...shared, type: "category", data: axis.names };
        const { min, max } = ends(parallelRows.map(row => valueOf(dim, row)));
        return { ...shared, type: "value", min, max };
      }),
      series: { type: "parallel", progressive: 2000, inactiveOpacity: many ? .01 : .06, activeOpacity: many ? .2 : .75, lineStyle: { width: many ? 1 : 1.5, opacity: many ? .1 : .6 }, data: parallelRows.map(row => ({ value: dims.map(dim => clean(valueOf(dim, row), false) ?? "-"), lineStyle: { color: lines.get(lineKey(row)).look.colour } })) },
    }, true);
    for (const dim of dims) if (state.ranges[dim]) parallel.dispatchAction({ type: "axisAreaSelect", parallelAxisId: `d:${dim}`, intervals: state.ranges[dim].map(one => one.map(end => Math.max(-1e300, Math.min(1e300, end)))) }, { silent: true });
  }

  /* Tables ------------------------------------------------------------------------------------------------------ */
  const STEP = 50, views = {};
  const cell = (text, sort = text, options = {}) => ({ text: String(text), sort, ...options });
  const cellNumber = value => cell(number(value), value === null || value === undefined ? -Infinity : value, { n: true });
  /** A table that can be searched and sorted; `rows` are lists of cells, and `key` names what is kept between drawings. */
  function drawTable(parent, key, heads, rows, { caption, note = "" } = {}) {
    const view = views[key] ||= { sort: null, down: false, words: "", shown: STEP };
    if (view.sort !== null && view.sort >= heads.length) view.sort = null;
    let box = parent.querySelector(":scope > .table-box");
    if (!box) {
      const search = element("input", { type: "search", oninput: () => { view.words = search.value; view.shown = STEP; box.fill(); } });
      search.value = view.words;
      box = element("div", { class: "table-box" }, element("div", { class: "table-bar" }, element("label", {}, `Search ${caption.toLowerCase()}`, search), element("p", {})), element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `Table of ${caption.toLowerCase()}` }));
      parent.replaceChildren(box);
    }
    box.fill = () => {
      const words = view.words.trim().toLowerCase();
      let found = rows.filter(row => row.map(one => one.text.toLowerCase()).join(" ").includes(words));
      if (view.sort !== null) {
        const place = view.sort, way = view.down ? -1 : 1;
        const compare = (one, other) => typeof one === "number" && typeof other === "number" ? one - other : String(one).localeCompare(String(other), "en", { numeric: true });
        found = [...found].sort((one, other) => way * compare(one[place].sort, other[place].sort));
      }
      const head = element("tr", {}, ...heads.map((title, place) => title === "" ? element("td", {}) : element("th", { scope: "col", class: rows[0] && rows[0][place].n ? "n" : null, "aria-sort": view.sort === place ? (view.down ? "descending" : "ascending") : null },
        element("button", { type: "button", "data-column": place, onclick: () => { view.down = view.sort === place ? !view.down : false; view.sort = place; box.fill(); box.querySelector(`[data-column="${place}"]`).focus(); } }, `${title}${view.sort === place ? (view.down ? " ▼" : " ▲") : ""}`))));
      const body = found.slice(0, view.shown).map(row => element("tr", { class: row.chosen ? "chosen" : null }, ...row.map(one => element("td", { class: one.n ? "n" : one.text.length > 40 ? "long" : null }, one.node || (one.chip ? element("span", { class: `chip ${one.chip}` }, one.text) : one.text)))));
      box.querySelector("p").textContent = `${found.length} of ${rows.length}${note}`;
      const table = element("table", {}, element("thead", {}, head), element("tbody", {}, ...body));
      const scroll = box.querySelector(".scroll");
      scroll.replaceChildren(table);
      box.querySelector(":scope > button")?.remove();
      if (found.length > view.shown) box.append(element("button", { type: "button", onclick: () => { view.shown += 4 * STEP; box.fill(); } }, `Show more of ${found.length}`));
    };
    box.fill();
  }
  const openButton = row => cell("", row, { node: element("button", { type: "button", "aria-label": `Open point ${pointName(row)}`, onclick: () => open(row) }, "Open") });
  function drawPoints() {
    const varied = axes.filter(axis => axis.texts.length > 1), rows = [];
    const axisCells = row => varied.map(axis => { const place = at(row, axis.name); return cell(axis.names[place], axis.numbers ? axis.numbers[place] : place, { n: Boolean(axis.numbers) }); });
    const names = [...new Set([state.y, state.y2])];
    for (let row = 0; row < count; row++) {
      if (!selected[row]) continue;
      const facts = [cell(known.bottlenecks[known.bottleneck[row]] || "–"), cell(known.flags[known.flag[row]] || "")];
      let values;
      if (two) {
        const apart = differences[state.y];
        values = [cellNumber(columns[0][state.y].mean[row]), cellNumber(columns[1][state.y].mean[row]), cell(signed(apart.mean[row]), apart.mean[row] ?? -Infinity, { n: true }), cell(interval(apart.mean[row], apart.half[row]) || "–", apart.half[row] ?? -1, { n: true }), cell(percent(change(state.y, row)), change(state.y, row) ?? -Infinity, { n: true })];
      } else values = names.flatMap(name => { const { mean, half } = columns[last][name]; return [cellNumber(mean[row]), cell(interval(mean[row], half[row]) || "–", half[row] ?? -1, { n: true })]; });
      const made = [openButton(row), ...axisCells(row), ...values, ...facts];
      made.chosen = row === state.point;
      rows.push(made);
    }
    const heads = two ? ["Before", "After", "Difference", "95 % interval", "Change"] : names.flatMap(name => [measureLabel(name), "95 % interval"]);
    drawTable($("points"), "points", ["", ...varied.map(axis => axis.label), ...heads, "Bottleneck", "Flags"], rows, { caption: "Points", note: two ? `; ${measureLabel(state.y)}` : "" });
    if (two) drawMoved();
  }
  function drawMoved() {
    const rows = [];
    for (const { name } of measures) {
      const { mean, half } = differences[name];
      for (let row = 0; row < count; row++) {
        if (!selected[row] || mean[row] === null || half[row] === null || !(Math.abs(mean[row]) > half[row])) continue;
        const share = change(name, row);
        rows.push([openButton(row), cell(measureLabel(name)), cell(pointName(row)), cellNumber(columns[0][name].mean[row]), cellNumber(columns[1][name].mean[row]), cell(interval(mean[row], half[row]), mean[row], { n: true }), cell(percent(share), Math.abs(share), { n: true })]);
      }
    }
    let box = $("moved");
    if (!box) {
      box = element("div", { id: "moved" });
      $("points").after(element("h3", {}, "All differences that are certain"), element("p", { class: "hint" }, "Measures at points whose paired 95 % interval excludes 0, the largest change first."), box);
      views.moved = { sort: 6, down: true, words: "", shown: STEP };
    }
    drawTable(box, "moved", ["", "Measure", "Point", "Before", "After", "Difference, 95 % interval", "Change"], rows, { caption: "Differences" });
  }
  function drawClaims() {
    $("claims-section").hidden = !data.claims.length;
    const rows = data.claims.map(claim => [cell(claim.name), cell(claim.claim ? claim.published : claim.published ? `own: ${claim.published}` : "own"), cell(claim.value), cell(claim.interval), cell(claim.band), cell(claim.outcome, claim.outcome, { chip: claim.outcome.replace(" ", "-") })]);
    if (rows.length) drawTable($("claims"), "claims", ["Name", "Published", "Simulated", "95 % interval", "Accepted", "Verdict"], rows, { caption: "Expectations" });
  }

  /* Commands ---------------------------------------------------------------------------------------------------- */
  const shell = word => /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
  const quoted = word => JSON.stringify(word);
  const folderOf = side => sides[side].folder || `results/${data.scenario}`;
  const source = side => sides[side].folder ? `hostsim.open_results(${quoted(sides[side].folder)})` : "results";
  function commands(list) {
    return list.map(([title, line]) => element("div", {}, element("span", {}, title), element("code", {}, line), element("button", { type: "button", "aria-label": `Copy the ${title.toLowerCase()} line`, onclick: event => copy(line, event.currentTarget) }, "Copy")));
  }
  async function copy(line, button) {
    try { await navigator.clipboard.writeText(line); button.textContent = "Copied"; } catch {
      const range = document.createRange();
      range.selectNodeContents(button.previousElementSibling);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      button.textContent = document.execCommand("copy") ? "Copied" : "Selected";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  }
  const fixedAxes = () => axes.filter(axis => axis.name !== state.x && !state.by.includes(axis.name) && axis.texts.length > 1);
  const python = pairs => `{${pairs.map(([name, value]) => `${quoted(name)}: ${quoted(value)}`).join(", ")}}`;
  function figureCommands() {
    if (!state.x) { $("figure-commands").replaceChildren(); return; }
    const fixed = fixedAxes().map(axis => [axis.name, axis.texts[state.at[axis.name]]]);
    const options = ["--x", state.x, "--y", state.y, ...state.by.flatMap(axis => ["--by", axis]), ...fixed.flatMap(([axis, value]) => ["--at", `${axis}=${value}`])];
    const call = [`x=${quoted(state.x)}`, `y=${quoted(state.y)}`, ...(state.by.length ? [`by=[${state.by.map(quoted).join(", ")}]`] : []), ...(fixed.length ? [`at=${python(fixed)}`] : [])].join(", ");
    const line = two ? `ax = ${sides[0].folder ? source(0) : "before"}.plot(${call}); ${source(1)}.plot(${call}, ax=ax)` : `${source(last)}.plot(${call})`;
    $("figure-commands").replaceChildren(...commands([["Command", ["hostsim", "plot", folderOf(last), ...options].map(shell).join(" ")], ["Python", line]]));
  }

  /* Details of a point ------------------------------------------------------------------------------------------ */
  let inPoint = [];
  async function open(row) {
    state.point = row;
    keep();
    await drawPoint();
    drawPoints();
    const point = $("point"); // a tall one is read from its head, wherever it was opened
    point.scrollIntoView({ block: point.offsetHeight > innerHeight ? "start" : "nearest" });
    $("point-title").focus({ preventScroll: true });
    say(`Opened ${pointName(row)}`);
  }
  function close() {
    state.point = null;
    keep();
    drawPoint();
    drawPoints();
    curves[0].box.focus();
  }
  async function drawPoint() {
    inPoint.forEach(chart => chart.dispose());
    inPoint = [];
    const row = state.point;
    $("point").hidden = row === null;
    if (row === null) return;
    $("point-title").textContent = pointName(row);
    const parts = await Promise.all(sides.map(async (_, side) => data.details[side][row] ? unpack(data.details[side][row]) : null));
    if (state.point !== row) return;
    const body = $("point-body");
    body.replaceChildren();
    const facts = element("dl");
    const fact = (name, value) => facts.append(element("dt", {}, name), element("dd", {}, value));
    sides.forEach((side, place) => {
      const whose = two ? ` (${side.name})` : "", [first, ...rest] = measureWords(state.y, row, place), facts_ = data.known[place];
      fact(`${measureOf[state.y].label}${whose}`, [first.slice(first.indexOf(": ") + 2), ...rest.map(text => text.trim())].join("; "));
      fact(`Bottleneck${whose}`, [facts_.bottlenecks[facts_.bottleneck[row]] || "not known", facts_.reasons[facts_.reason[row]]].filter(Boolean).join(". "));
      fact(`Runs${whose}`, `${facts_.runs[row]}${facts_.failed[row] ? `, ${facts_.failed[row]} failed` : ""}${facts_.flags[facts_.flag[row]] ? `; ${facts_.flags[facts_.flag[row]]}` : ""}`);
    });
    body.append(facts, pointCommands(row));
    sides.forEach((side, place) => {
      if (two) body.append(element("h3", {}, side.name));
      if (!parts[place]) body.append(element("p", { class: "note" }, row >= data.with_details ? `Worlds, time lines and distributions of this point are not in the page, which contains those of ${data.with_details} of ${count} points. The command above prints the worlds.` : data.missing[place] ? `No worlds, time lines and distributions: ${data.missing[place]}` : "No run of this point has finished."));
      else body.append(...detailsOf(row, place, parts[place]));
    });
    if (parts.some(Boolean)) lineCharts(body, parts);
    const all = measures.filter(({ name }) => sides.some((_, side) => columns[side][name].mean[row] !== null)).map(({ name }) => [cell(measureLabel(name)), ...sides.flatMap((_, side) => { const { mean, half } = columns[side][name]; return [cellNumber(mean[row]), cell(interval(mean[row], half[row]) || "–", half[row] ?? -1, { n: true })]; }), cell(measureOf[name].meaning)]);
    const box = element("div");
    body.append(element("h3", {}, "All measures"), box);
    drawTable(box, "measures", ["Measure", ...sides.flatMap(side => [two ? side.name : "Mean", "95 % interval"]), "Meaning"], all, { caption: "Measures of the point" });
  }
  function pointCommands(row) {
    const where = axes.map(axis => [axis.name, axis.texts[at(row, axis.name)]]), box = element("div", { class: "commands" });
    box.append(...commands([
      ["Worlds", ["hostsim", "report", folderOf(last), "--contexts", ...where.flatMap(([name, value]) => ["--at", `${name}=${value}`])].map(shell).join(" ")],
      ["Python", `${source(last)}.record(${python(where)})`],
    ]));
    return box;
  }
  function barTable(title, heads, rows) {
    const most = Math.max(...rows.map(row => row[row.length - 1]), 1e-12);
    return element("div", {}, element("h3", {}, title), element("table", {}, element("thead", {}, element("tr", {}, ...heads.map(head => element("th", { scope: "col" }, head)), element("td"))), element("tbody", {}, ...rows.map(row => element("tr", {}, ...row.slice(0, -1).map(text => element("td", {}, text)), element("td", { class: "n" }, number(row[row.length - 1])), element("td", { class: "bars" }, element("span", { class: "rowbar", style: `width: ${100 * row[row.length - 1] / most}%` })))))));
  }
  const KINDS = { vcpu: "vCPUs", netpoll: "NetPoll", splitrx: "splitRx", networld: "NetWorld", pcpu: "PCPU", wire: "wire", firmware: "firmware" };
  function detailsOf(row, side, part) {
    const made = [], halves = element("div", { class: "columns" });
    const busy = part.cpu.filter(([kind, , share]) => kind !== "idle" && share > 0);
    if (busy.length) halves.append(barTable("CPU time", ["Context", "Of", "% of all PCPUs"], busy.map(([kind, owner, share]) => [KINDS[kind] || kind, owner || "", share])));
    const stages = data.stages.filter(name => measureOf[name] && columns[side][name].mean[row] !== null).map(name => [measureOf[name].label, columns[side][name].mean[row]]);
    if (stages.length) halves.append(barTable("Stages of a round trip", ["Stage", "Mean (µs)"], stages));
    if (halves.children.length) made.push(halves);
    if (part.contexts.length) {
      const rows = part.contexts.map(([kind, name, serves, node, used, ready, dispatches, packets, dropped, fill]) => [cell(KINDS[kind] || kind), cell(name), cell(serves || "–"), cell(node === null ? "–" : node, node ?? -1, { n: true }), ...[used, ready, dispatches, packets, dropped, fill].map(cellNumber)]);
      const box = element("div");
      made.push(element("h3", {}, "Worlds and their queues"), box);
      drawTable(box, `contexts${side}`, ["Kind", "World", "Serves", "Node", "Used %", "Ready %", "Dispatches/s", "Packets/s", "Dropped/s", "Queue full %"], rows, { caption: "Worlds" });
    }
    if (!part.series) made.push(element("p", { class: "note" }, `No time lines and distributions: ${data.missing[side]}`));
    return made;
  }
  function lineCharts(body, parts) {
    const halves = element("div", { class: "columns" });
    body.append(halves);
    const dashes = ["dashed", "solid"], styles = parts.map((_, side) => ({ color: colourOf(side), width: 1.6, type: two ? dashes[side] : "solid" }));
    const add = (title, id, names, words, draw) => {
      const present = Object.keys(names).filter(name => parts.some(part => part && part[words] && part[words][name]));
      if (!present.length) return;
      const select = element("select", { id }, ...present.map(name => element("option", { value: name }, names[name])));
      const box = element("div", { class: "small", role: "img" });
      halves.append(element("div", {}, element("h3", {}, title), element("label", {}, "Of ", select), box));
      const chart = echarts.init(box);
      inPoint.push(chart);
      const redraw = () => { box.setAttribute("aria-label", `${title}: ${names[select.value]}`); chart.setOption({ animation: false, grid: { ...grid(), right: 14 }, tooltip: { trigger: "axis", backgroundColor: css("--paper"), textStyle: text(), confine: true, valueFormatter: number }, ...draw(select.value) }, true); };
      select.addEventListener("change", redraw);
      redraw();
    };
    const whole = parts.filter(part => part && part.series);
    if (!whole.length) return;
    const [{ replication }] = whole;
    const legend = side => two ? sides[side].name : "";
    const mark = two ? `; dashed: ${sides[0].name}` : "";
    add(`Over time, replication ${replication}${mark}`, "counter", data.series, "series", name => ({
      xAxis: { type: "value", name: "Simulated time (s)", nameLocation: "middle", nameGap: 26, max: "dataMax", ...axisStyle() }, yAxis: { type: "value", ...axisStyle() },
      series: parts.map((part, side) => !part || !part.series || !part.series[name] ? null : { type: "line", step: "start", name: legend(side), showSymbol: false, lineStyle: styles[side], itemStyle: { color: styles[side].color }, data: part.ends.map((end, place) => [end, part.series[name][place]]),
        markArea: { silent: true, itemStyle: { color: css("--muted"), opacity: .15 }, label: { color: css("--ink"), fontSize: 11, position: "insideTopLeft" }, data: part.start > 0 && side === last ? [[{ xAxis: 0, name: "warm-up" }, { xAxis: part.start }]] : [] } }).filter(Boolean),
    }));
    add(`Distribution, replication ${replication}${mark}`, "time", data.times, "cdf", name => {
      const found = parts.map(part => part && part.cdf && part.cdf[name]), values = found.filter(Boolean).flatMap(one => one[0].filter(value => value > 0));
      const log = values.length > 0 && Math.max(...values) > 30 * Math.min(...values);
      return {
        xAxis: { type: log ? "log" : "value", name: data.times[name], nameLocation: "middle", nameGap: 26, scale: true, ...axisStyle(), ...ends(values, { log }) }, yAxis: { type: "value", name: "% that took no longer", min: 0, max: 100, ...axisStyle(), nameTextStyle: { ...text(), align: "left" } },
        series: found.map((one, side) => !one ? null : { type: "line", step: "end", name: legend(side), showSymbol: false, lineStyle: styles[side], itemStyle: { color: styles[side].color }, data: one[0].map((end, place) => [end, one[1][place]]).filter(([end]) => !log || end > 0) }).filter(Boolean),
      };
    });
    inPoint.forEach(chart => chart.resize()); // the second chart takes half of the width
  }

  /* Controls ---------------------------------------------------------------------------------------------------- */
  function fillSelect(select, options, value) {
    select.replaceChildren(...options.map(option => option.group ? element("optgroup", { label: option.group }, ...option.options.map(one => element("option", { value: one.value }, one.text))) : element("option", { value: option.value }, option.text)));
    select.value = value;
  }
  const subjectOf = name => measureOf[name] ? measureOf[name].of : "";
  const baseOf = name => name.split(" of ")[0];
  function measureOptions(subject) {
    const own = measures.filter(one => subject === undefined || one.of === subject), rest = own.filter(one => !one.first);
    const option = ({ name }) => ({ value: name, text: measureLabel(name) }), subjects = [...new Set(rest.map(one => one.of))];
    const groups = [["In figures and claims", own.filter(one => one.first)], ...subjects.map(name => [name ? `Of ${name}` : "All others", rest.filter(one => one.of === name)])].filter(([, found]) => found.length);
    return groups.length > 1 ? groups.map(([group, found]) => ({ group, options: found.map(option) })) : own.map(option);
  }
  function makeControls() {
    fillSelect($("y2"), measureOptions(), state.y2);
    fillSelect($("x"), axes.length ? axes.map(axis => ({ value: axis.name, text: axisLabel(axis) })) : [{ value: "", text: "none" }], state.x);
    fillSelect($("subject"), data.subjects.map(name => ({ value: name, text: name || "the whole host" })), subjectOf(state.y));
    fillSelect($("dimension"), measureOptions(), state.y);
    const choose = y => change_({ y, dims: state.dims.includes(y) ? state.dims : [...state.dims.filter(dim => dim !== state.y || dim === state.y2), y] });
    $("y").onchange = event => choose(event.target.value);
    $("y2").onchange = event => change_({ y2: event.target.value, dims: state.dims.includes(event.target.value) ? state.dims : [...state.dims.filter(dim => dim !== state.y2 || dim === state.y), event.target.value] });
    $("x").onchange = event => change_({ x: event.target.value, by: state.by.filter(axis => axis !== event.target.value) });
    $("subject").onchange = event => {
      const own = measures.filter(one => one.of === event.target.value);
      choose((own.find(one => baseOf(one.name) === baseOf(state.y)) || own[0]).name);
    };
    for (const name of ["zero", "logx", "logy"]) $(name).onchange = event => change_({ [name]: event.target.checked });
    $("controls").onsubmit = event => event.preventDefault();
    $("add").onclick = () => {
      const read = (id, none) => { const given = $(id).value.trim(); return given === "" ? none : Number(given.replace(",", ".")); };
      const low = read("low", -Infinity), high = read("high", Infinity);
      if (Number.isNaN(low) || Number.isNaN(high) || (low === -Infinity && high === Infinity)) { say("A filter needs a number in from, in to, or in both."); return; }
      change_({ ranges: { ...state.ranges, [$("dimension").value]: [[low === -Infinity ? -1e300 : low, high === Infinity ? 1e300 : high]] } });
    };
    $("reset").onclick = () => { const { theme } = state; state = { ...beginning(), theme }; for (const view of Object.values(views)) view.words = ""; document.querySelectorAll("input[type=search]").forEach(input => { input.value = ""; }); drawPoint(); render(); say("The view is as it was when the page was opened."); };
    $("close").onclick = close;
    $("point").addEventListener("keydown", event => { if (event.key === "Escape") close(); });
    $("theme").onclick = () => { const all = ["system", "light", "dark"]; state.theme = all[(all.indexOf(state.theme) + 1) % 3]; setTheme(); keep(); drawPoint(); render(); };
    const dims = [...axes.map(axis => `@${axis.name}`), ...measures.map(one => one.name)];
    $("dims").replaceChildren(...dims.map(dim => element("label", { class: "check" }, element("input", { type: "checkbox", value: dim, onchange: event => change_({ dims: event.target.checked ? [...state.dims, dim] : state.dims.filter(one => one !== dim) }) }), dimLabel(dim))));
  }
  function drawControls() {
    $("subject").value = subjectOf(state.y);
    fillSelect($("y"), measureOptions(subjectOf(state.y)), state.y);
    for (const name of ["y2", "x"]) $(name).value = state[name];
    for (const name of ["zero", "logx", "logy"]) $(name).checked = state[name];
    $("logx").disabled = !isNumeric(xAxis());
    $("meaning").textContent = measureOf[state.y] ? measureOf[state.y].meaning : "";
    const others = axes.filter(axis => axis.name !== state.x && axis.texts.length > 1);
    $("by").hidden = !others.length;
    keepFocus($("by"), () => $("by").replaceChildren($("by").querySelector("legend"), ...others.map(axis => {
      const input = element("input", { type: "checkbox", id: `by-${axis.name}`, onchange: () => change_({ by: axes.map(one => one.name).filter(name => name === axis.name ? input.checked : state.by.includes(name)) }) });
      input.checked = state.by.includes(axis.name);
      return element("label", { class: "check" }, input, axis.label);
    })));
    const fixed = fixedAxes();
    $("at").hidden = !fixed.length;
    keepFocus($("at"), () => $("at").replaceChildren($("at").querySelector("legend"), ...fixed.map(axis => {
      const output = element("output", { for: `at-${axis.name}` }, axis.names[state.at[axis.name]]);
      const input = element("input", { type: "range", id: `at-${axis.name}`, min: 0, max: axis.texts.length - 1, step: 1, "aria-valuetext": axis.names[state.at[axis.name]], oninput: () => change_({ at: { ...state.at, [axis.name]: Number(input.value) } }) });
      input.value = state.at[axis.name];
      return element("label", {}, `${axis.label} `, output, input);
    })));
    const active = Object.entries(state.ranges).flatMap(([dim, ranges]) => ranges.map((range, place) => [dim, range, place])).map(([dim, [low, high], place]) => {
      const axis = isAxis(dim) ? axes[axisNumber[dim.slice(1)]] : null;
      const words = axis && isOrdinal(axis) ? axis.names.filter((_, value) => value >= low && value <= high).join(", ") : `${low <= -1e300 ? "up" : number(low)} to ${high >= 1e300 ? "any" : number(high)}`;
      const remove = () => { const rest = { ...state.ranges, [dim]: state.ranges[dim].filter((_, index) => index !== place) }; if (!rest[dim].length) delete rest[dim]; change_({ ranges: rest }); };
      return element("li", {}, `${dimLabel(dim)}: ${words}`, element("button", { type: "button", "aria-label": `Remove the filter of ${dimLabel(dim)}`, onclick: remove }, "×"));
    });
    $("active").replaceChildren(...active);
    $("active").hidden = !active.length;
    const boxes = axes.filter(axis => axis.texts.length > 1 && axis.texts.length <= 60).map(axis => [`@${axis.name}`, axis.label, axis.names]);
    const limits = new Set(known.bottleneck).size; // of the host, which come first
    if (limits > 1 && limits <= 60) boxes.push(["bottleneck", "Bottleneck", known.bottlenecks.slice(0, limits).map(name => name || "not known")]);
    const opened = [...$("shown").querySelectorAll("details[open]")].map(one => one.dataset.of);
    keepFocus($("shown"), () => $("shown").replaceChildren(...boxes.map(([name, label, values]) => {
      const hidden = state.hidden[name] || [];
      const checks = values.map((value, place) => {
        const input = element("input", { type: "checkbox", id: `show-${name}-${place}`, onchange: () => { const now = state.hidden[name] || [], rest = { ...state.hidden, [name]: input.checked ? now.filter(one => one !== place) : [...now, place] }; if (!rest[name].length) delete rest[name]; change_({ hidden: rest }); } });
        input.checked = !hidden.includes(place);
        return element("label", { class: "check" }, input, value);
      });
      const all = element("button", { type: "button", id: `all-${name}`, onclick: () => { const rest = { ...state.hidden }; if (hidden.length) delete rest[name]; else rest[name] = values.map((_, place) => place); change_({ hidden: rest }); } }, hidden.length ? "Show all" : "Hide all");
      return element("details", { "data-of": name, open: opened.includes(name) }, element("summary", {}, `${label}${hidden.length ? `: ${values.length - hidden.length} of ${values.length} shown` : ""}`), ...checks, ...(values.length > 3 ? [all] : []));
    })));
    $("dims").querySelectorAll("input").forEach(input => { input.checked = state.dims.includes(input.value); });
  }
  function keepFocus(parent, draw) {
    const id = parent.contains(document.activeElement) ? document.activeElement.id : "";
    draw();
    if (id && $(id)) $(id).focus();
  }
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  function setTheme() {
    document.documentElement.dataset.theme = state.theme === "system" ? (prefersDark.matches ? "dark" : "light") : state.theme;
    $("theme").textContent = `Theme: ${state.theme}`;
  }
  prefersDark.addEventListener("change", () => { if (state.theme === "system") { setTheme(); drawPoint(); render(); } });

  /* Notes and provenance ------------------------------------------------------------------------------------------ */
  function drawNotes() {
    const notes = [];
    if (data.quick) notes.push("Quick fidelity: short runs and few replications.");
    for (const side of sides) if (side.changed) notes.push(`${two ? `${side.name}: ` : ""}changed by options: ${side.changed}`);
    for (const text of sides[last].warnings) notes.push(text);
    if (data.left_out.length) notes.push(`${data.left_out.length} measures are left out, as the page would exceed 3 MB: ${data.left_out.join(", ")}. The table of the results folder has all of them.`);
    $("notes").replaceChildren(...notes.map(text => element("p", { class: "note" }, text)));
    $("provenance").replaceChildren(...sides.map(side => {
      const list = element("dl");
      for (const [name, value] of [["command", side.command], ...Object.entries(side.provenance)]) list.append(element("dt", {}, name), element("dd", {}, value));
      return element("div", {}, ...(two ? [element("h3", {}, side.name)] : []), list);
    }));
  }

  /* Everything ---------------------------------------------------------------------------------------------------- */
  let waiting = 0;
  function change_(parts, { keepParallel = false } = {}) {
    state = { ...state, ...parts };
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(() => render({ keepParallel }));
  }
  function render({ keepParallel = false } = {}) {
    if (!measures.length) { say("The results contain no measures."); return; }
    keep();
    lines = allLines();
    selected = Array.from({ length: count }, (_, row) => isSelected(row));
    drawControls();
    drawCurves();
    drawPair();
    drawParallel(keepParallel);
    drawPoints();
    const kept = selected.filter(Boolean).length;
    say(kept === count ? `${count} point${count === 1 ? "" : "s"}` : `${kept} of ${count} points pass the filters`);
  }
  setTheme();
  makeControls();
  if (measures.length) { makeCurves(); makePair(); makeParallel(); }
  drawNotes();
  drawClaims();
  render();
  await drawPoint();
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth === width) return; // a telephone that hides its address bar
    width = innerWidth;
    [...curves, pair].forEach(chart => chart?.resize());
    inPoint.forEach(chart => chart.resize());
    if (measures.length) drawParallel();
  });
  window.explorer = { get state() { return state; }, curves, pair, parallel };
  document.documentElement.dataset.ready = "yes";
})();
