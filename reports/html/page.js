// Draws each figure from the table below it with Chart.js, and lets tables be sorted. Without Chart.js the tables stand alone.
"use strict";
(() => {
  const shapes = ["circle", "rect", "triangle", "rectRot", "star", "cross", "crossRot", "rectRounded"];
  const dashes = [[], [7, 4], [2, 3], [9, 3, 2, 3]];
  const charts = [];

  const colour = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const series = i => colour("--c" + (i % 8));
  const small = () => window.innerWidth < 600;
  // A long label loses its middle: names often differ at their ends.
  const cut = (text, n) => (text.length > n ? text.slice(0, Math.ceil(n / 2) - 1) + "…" + text.slice(-Math.floor(n / 2)) : text);

  function duration(s) {
    if (s === 0) return "0";
    for (const [least, unit] of [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [0, "ns"]])
      if (Math.abs(s) >= least) return Number((s / (unit === "s" ? 1 : unit === "ms" ? 1e-3 : unit === "µs" ? 1e-6 : 1e-9)).toPrecision(3)) + " " + unit;
    return "0";
  }

  function bytes(n) {
    const at = Math.min(5, Math.max(0, Math.floor(Math.log10(Math.abs(n) || 1) / 3)));
    return Number((n / 1000 ** at).toPrecision(3)) + " " + ["B", "kB", "MB", "GB", "TB", "PB"][at];
  }

  function shown(unit, value) {
    if (!Number.isFinite(value)) return "not measured";
    switch (unit) {
      case "frac": return Number((value * 100).toPrecision(4)) + "%";
      case "ns": return duration(value * 1e-9);
      case "s": return duration(value);
      case "ratio": return Number(value.toPrecision(3)) + "x";
      case "bytes": return bytes(value);
      case "bytes_per_s": return bytes(value) + "/s";
      default: return Number(value.toPrecision(4)).toLocaleString("en-US", {maximumFractionDigits: 6});
    }
  }

  // The table as columns with their roles, and rows of numbers or texts.
  function read(table) {
    const columns = [...table.tHead.rows[0].cells].map((th, at) => ({at, title: th.textContent.trim(), role: th.dataset.role || "", unit: th.dataset.unit || ""}));
    const rows = [...table.tBodies[0].rows].map(tr => ({
      link: tr.querySelector("a") ? tr.querySelector("a").getAttribute("href") : null,
      at: [...tr.cells].map(td => (td.dataset.v === undefined ? td.textContent.trim() : Number(td.dataset.v))),
      said: [...tr.cells].map(td => td.textContent.trim()),
    }));
    const of = role => columns.filter(column => column.role === role);
    const number = (row, column) => (column && typeof row.at[column.at] === "number" ? row.at[column.at] : NaN);
    const text = (row, column) => (column ? String(row.at[column.at]) : "");
    return {columns, rows, of, one: role => of(role)[0], number, text};
  }

  // Intervals, as whiskers at each point that has one; a short line at the value, dots at further values.
  const whiskers = {
    id: "whiskers",
    afterDatasetsDraw(chart) {
      const {ctx} = chart, flat = chart.options.indexAxis === "y", value = flat ? chart.scales.x : chart.scales.y;
      chart.data.datasets.forEach((set, s) => {
        const meta = chart.getDatasetMeta(s);
        if (meta.hidden) return;
        meta.data.forEach((element, i) => {
          const raw = set.data[i], own = raw && raw.own;
          if (!own) return;
          const half = flat ? 6 : 5, aside = flat ? 0 : (s - (chart.data.datasets.length - 1) / 2) * Math.min(4, 20 / chart.data.datasets.length); // so that no whisker hides another
          const place = flat ? element.y : element.x + aside;
          ctx.save();
          ctx.lineWidth = 1.5;
          ctx.strokeStyle = set.ink || set.borderColor;
          ctx.fillStyle = ctx.strokeStyle;
          const pixel = v => value.getPixelForValue(v);
          if (own.whisker && Number.isFinite(own.low) && Number.isFinite(own.high)) {
            const a = pixel(own.low), b = pixel(own.high);
            ctx.beginPath();
            if (flat) { ctx.moveTo(a, place); ctx.lineTo(b, place); } else { ctx.moveTo(place, a); ctx.lineTo(place, b); }
            ctx.stroke();
            for (const end of [a, b]) {
              ctx.beginPath();
              if (flat) { ctx.moveTo(end, place - half); ctx.lineTo(end, place + half); } else { ctx.moveTo(place - half, end); ctx.lineTo(place + half, end); }
              ctx.stroke();
            }
          }
          if (own.tick !== undefined && Number.isFinite(own.tick)) {
            const at = pixel(own.tick);
            ctx.lineWidth = 3;
            ctx.beginPath();
            ctx.moveTo(at, place - 7);
            ctx.lineTo(at, place + 7);
            ctx.stroke();
          }
          for (const dot of own.dots || []) {
            if (!Number.isFinite(dot)) continue;
            ctx.beginPath();
            ctx.arc(pixel(dot), place, 3, 0, 2 * Math.PI);
            ctx.fill();
          }
          ctx.restore();
        });
      });
    },
  };

  // Lines across the chart, with their names.
  const marks = {
    id: "marks",
    afterDatasetsDraw(chart) {
      const {ctx, chartArea: area} = chart;
      let row = 0;
      const placed = [];
      for (const mark of chart.marks || []) {
        const upright = mark.across !== (chart.options.indexAxis === "y");
        const at = (upright ? chart.scales.x : chart.scales.y).getPixelForValue(mark.at);
        const near = placed.find(other => other.upright === upright && Math.abs(other.at - at) < 15); // one name would hide the other
        if (near && !near.name.split(", ").includes(mark.name)) near.name += ", " + mark.name;
        if (!near) placed.push({name: mark.name, upright, at, also: []});
        if (near) near.also.push(at);
      }
      for (const mark of placed) {
        const {upright, at} = mark;
        const [first, last] = upright ? [area.left, area.right] : [area.top, area.bottom];
        if (!(at >= first - 1 && at <= last + 1)) continue;
        ctx.save();
        ctx.strokeStyle = ctx.fillStyle = colour("--mark");
        ctx.lineWidth = 1.2;
        ctx.setLineDash([4, 4]);
        ctx.beginPath();
        for (const line of [at, ...mark.also])
          if (upright) { ctx.moveTo(line, area.top); ctx.lineTo(line, area.bottom); } else { ctx.moveTo(area.left, line); ctx.lineTo(area.right, line); }
        ctx.stroke();
        ctx.font = "12px " + Chart.defaults.font.family;
        const width = ctx.measureText(mark.name).width;
        const x = upright ? Math.min(Math.max(at + 4, area.left), area.right - width - 2) : area.right - width - 4;
        const top = Math.min(at, ...mark.also), bottom = Math.max(at, ...mark.also); // its name crosses none of its lines
        const y = upright ? area.top - 5 - 15 * row++ : top > area.top + 18 ? top - 6 : bottom + 14;
        ctx.fillStyle = colour("--card");
        ctx.fillRect(x - 2, y - 11, width + 4, 14);
        ctx.fillStyle = colour("--mark");
        ctx.fillText(mark.name, x, y);
        ctx.restore();
      }
    },
  };

  function axis(title, unit, more) {
    return Object.assign({
      title: {display: !!title, text: title, color: colour("--soft")},
      grid: {color: colour("--grid"), borderColor: colour("--line")},
      ticks: {color: colour("--soft"), callback: value => shown(unit, value), maxRotation: 0, autoSkipPadding: 12},
    }, more);
  }

  // Powers of ten; where there are fewer than two, 2 and 5 between them as well.
  function logTicks(unit, least, most) {
    const shownDigits = Math.floor(Math.log10(most)) > Math.ceil(Math.log10(least)) ? [1] : [1, 2, 5];
    return {color: colour("--soft"), maxRotation: 0, autoSkip: true, autoSkipPadding: 10,
      callback: value => (shownDigits.includes(Number((value / 10 ** Math.floor(Math.log10(value) + 1e-9)).toPrecision(6))) ? shown(unit, value) : null)};
  }

  function labelAxis(labels) {
    const n = small() ? 18 : 40;
    return {grid: {display: false, borderColor: colour("--line")}, stacked: false,
      ticks: {color: colour("--ink"), autoSkip: false, callback: (value, i) => cut(labels[i], n)}};
  }

  // A point's own figures, for whiskers and tooltips.
  function own(data, row) {
    return {low: data.number(row, data.one("low")), high: data.number(row, data.one("high")), row};
  }

  // The highest end of an interval, which the axis must show.
  function highest(data) {
    return Math.max(...data.rows.flatMap(row => [data.number(row, data.one("y")), data.number(row, data.one("high"))]).filter(Number.isFinite));
  }

  function lines(data) {
    const x = data.one("x"), y = data.one("y"), by = data.one("series"), names = [...new Set(data.rows.map(row => data.text(row, by)))];
    const datasets = names.map((name, i) => {
      const rows = data.rows.filter(row => data.text(row, by) === name).sort((a, b) => data.number(a, x) - data.number(b, x));
      const fitted = rows.every(row => !row.link) && names.length > 1;
      return {label: name, borderColor: series(i), backgroundColor: series(i), borderWidth: 2 + Math.min(i, 5) * 0.8, borderDash: fitted ? [6, 4] : dashes[Math.floor(i / 8) % 4],
        pointStyle: shapes[i % 8], pointRadius: fitted ? 0 : 4 + 1.5 * Math.min(i, 4), pointHitRadius: fitted ? 0 : 10, showLine: true, tension: 0,
        data: rows.map(row => ({x: data.number(row, x), y: data.number(row, y), link: row.link, own: Object.assign({whisker: true}, own(data, row))}))};
    });
    const values = data.rows.filter(row => row.link).map(row => data.number(row, x));
    return {type: "scatter", data: {datasets}, flat: false, value: y,
      scales: {x: axis(x.title, x.unit, {type: "linear", suggestedMin: Math.min(...values), suggestedMax: Math.max(...values), ticks: {color: colour("--soft"), precision: 0, maxRotation: 0}}),
        y: axis("", y.unit, {beginAtZero: true, suggestedMax: highest(data)})}};
  }

  function bars(data) {
    const label = data.one("label"), y = data.one("y"), labels = data.rows.map(row => data.text(row, label));
    return {type: "bar", flat: true, value: y, labels,
      data: {labels, datasets: [{label: y.title, backgroundColor: series(0), borderColor: series(0), ink: colour("--ink"), maxBarThickness: 26,
        data: data.rows.map((row, i) => ({x: data.number(row, y), y: labels[i], link: row.link, own: Object.assign({whisker: true}, own(data, row))}))}]},
      scales: {x: axis("", y.unit, {beginAtZero: true, suggestedMax: highest(data)}), y: labelAxis(labels)}};
  }

  function parts(data, stacked) {
    const label = data.one("label"), columns = data.of("part"), labels = data.rows.map(row => data.text(row, label));
    const used = columns.filter(column => data.rows.some(row => data.number(row, column) > 0));
    const share = used.length > 0 && used[0].unit === "frac";
    return {type: "bar", flat: true, value: columns[0], labels, thick: stacked ? 1 : used.length, named: true,
      data: {labels, datasets: used.map(column => ({label: column.title, backgroundColor: series(columns.indexOf(column)), borderColor: colour("--card"), borderWidth: 1,
        maxBarThickness: 26, stack: stacked ? "all" : undefined,
        data: data.rows.map((row, i) => ({x: data.number(row, column), y: labels[i], link: row.link}))}))},
      scales: {x: axis("", columns[0].unit, {beginAtZero: true, stacked, max: share && stacked ? 1 : undefined}), y: Object.assign(labelAxis(labels), {stacked})}};
  }

  function ranges(data, log) {
    const label = data.one("label"), y = data.one("y"), group = data.one("series"), rows = data.rows.filter(row => Number.isFinite(data.number(row, y)));
    const labels = rows.map(row => data.text(row, label)), groups = group ? [...new Set(rows.map(row => data.text(row, group)))] : [""];
    const point = (row, i) => {
      const figures = own(data, row), middle = data.number(row, y);
      const from = Number.isFinite(figures.low) ? figures.low : middle, to = Number.isFinite(figures.high) ? figures.high : middle;
      return {x: [from, to], y: labels[i], link: row.link, own: Object.assign({tick: middle, dots: data.of("part").map(column => data.number(row, column))}, figures)};
    };
    const values = rows.flatMap(row => ["y", "low", "high", "part"].flatMap(role => data.of(role).map(column => data.number(row, column)))).filter(Number.isFinite);
    const positive = values.filter(value => value > 0);
    return {type: "bar", flat: true, value: y, labels,
      data: {labels, datasets: groups.map((name, i) => ({label: name || y.title, backgroundColor: series(i) + "99", borderColor: series(i), ink: colour("--ink"), grouped: false, maxBarThickness: 14, minBarLength: 2,
        data: rows.map((row, k) => (!group || data.text(row, group) === name ? point(row, k) : {x: null, y: labels[k]}))}))},
      scales: {x: log ? axis("", y.unit, {type: "logarithmic", min: Math.min(...positive) / 1.5, max: Math.max(...positive) * 1.5,
                               ticks: logTicks(y.unit, Math.min(...positive) / 1.5, Math.max(...positive) * 1.5)})
                      : axis("", y.unit, {suggestedMin: Math.min(0, ...values), suggestedMax: Math.max(...values)}), y: labelAxis(labels)}};
  }

  function waterfall(data) {
    const label = data.one("label"), y = data.one("y"), labels = data.rows.map(row => data.text(row, label));
    let at = 0;
    const points = data.rows.map((row, i) => {
      const value = data.number(row, y), last = i === data.rows.length - 1, from = last ? 0 : at;
      if (Number.isFinite(value) && !last) at += value;
      return {x: Number.isFinite(value) ? [from, last ? value : at] : null, y: labels[i], own: {row}};
    });
    return {type: "bar", flat: true, value: y, labels,
      data: {labels, datasets: [{label: y.title, maxBarThickness: 26, minBarLength: 2, borderColor: colour("--ink"), data: points,
        backgroundColor: data.rows.map((row, i) => (i === labels.length - 1 ? series(6) : data.number(row, y) < 0 ? series(2) : series(1)))}]},
      scales: {x: axis("", y.unit, {beginAtZero: true}), y: labelAxis(labels)}};
  }

  const kinds = {lines, bars, stack: data => parts(data, true), groups: data => parts(data, false), ranges, waterfall};

  // What a tooltip says of a point: each column of its row, as the table has it.
  function details(data, item) {
    const row = item.raw && item.raw.own && item.raw.own.row;
    if (!row) return item.dataset.label + ": " + shown(data.columns.find(column => column.role === "part").unit, item.raw.x);
    return data.columns.filter(column => column.role !== "label").map(column => column.title + ": " + row.said[column.at]);
  }

  // Without the legend.
  function height(spec) {
    return spec.flat ? 76 + spec.labels.length * Math.max(24, 16 * (spec.thick || 1)) : small() ? 300 : 380;
  }

  function draw(figure) {
    const table = figure.querySelector("table"), plot = figure.querySelector(".plot"), data = read(table);
    const spec = kinds[figure.dataset.chart](data, figure.dataset.log === "1");
    const scale = spec.flat ? spec.scales.x : spec.scales.y, lined = [...figure.querySelectorAll(".mark")].map(li =>
      ({name: li.dataset.name, at: Number(li.dataset.at), across: li.dataset.across === "1"}));
    for (const mark of lined) {
      const on = mark.across ? spec.scales.x : scale;
      on.suggestedMax = Math.max(on.suggestedMax || 0, mark.across ? mark.at : mark.at * 1.04);
      if (mark.at < 0) on.suggestedMin = Math.min(on.suggestedMin || 0, mark.at * 1.04);
    }
    scale.title = {display: true, text: figure.dataset.axis, color: colour("--soft")};
    plot.style.height = height(spec) + 400 + "px";
    const names = spec.named || spec.data.datasets.length > 1;
    // Between legend and chart, for the names of upright lines, which would hide what is below.
    const upright = new Set(lined.filter(mark => mark.across !== Boolean(spec.flat)).map(mark => mark.name));
    const room = upright.size ? 4 + 15 * upright.size : 0;
    const spacer = {id: "spacer", beforeInit(chart) {
      const fit = names && chart.legend.fit;
      if (fit) chart.legend.fit = function () { fit.call(this); this.height += room; };
    }};
    const chart = new Chart(plot.querySelector("canvas"), {type: spec.type, data: spec.data, plugins: [whiskers, marks, spacer],
      options: {indexAxis: spec.flat ? "y" : "x", responsive: true, maintainAspectRatio: false, animation: false, scales: spec.scales,
        layout: {padding: {right: 12, top: names ? 0 : room}},
        onClick: (event, hits, on) => { const raw = hits.length && on.data.datasets[hits[0].datasetIndex].data[hits[0].index]; if (raw && raw.link) location.hash = raw.link; },
        plugins: {legend: {display: names, position: "top", align: "start", labels: {usePointStyle: true, color: colour("--ink"), boxHeight: 7}},
          tooltip: {callbacks: {title: items => items[0] ? (spec.labels ? spec.labels[items[0].dataIndex] : items[0].dataset.label) : "", label: item => details(data, item)}}}}});
    chart.marks = lined;
    chart.update();
    plot.style.height = height(spec) + (names ? chart.legend.height : room) + "px"; // its rows take nothing from the bars
    chart.resize();
    return chart;
  }

  function drawAll() {
    while (charts.length) charts.pop().destroy();
    Chart.defaults.font.family = getComputedStyle(document.documentElement).fontFamily;
    for (const figure of document.querySelectorAll("figure[data-chart]")) {
      figure.querySelector(".plot").hidden = false;
      charts.push(draw(figure));
    }
  }

  function sortable(table) {
    for (const th of table.tHead.rows[0].cells) {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...th.childNodes);
      th.append(button);
      button.addEventListener("click", () => {
        const up = th.getAttribute("aria-sort") !== "ascending", at = th.cellIndex, body = table.tBodies[0];
        const key = tr => { const td = tr.cells[at]; return td.dataset.v === undefined ? null : Number(td.dataset.v); };
        const rows = [...body.rows].sort((a, b) => {
          const x = key(a), y = key(b);
          if (x === null !== (y === null)) return x === null ? 1 : -1; // what was not measured is last, in both orders
          const order = x !== null ? x - y : a.cells[at].textContent.localeCompare(b.cells[at].textContent);
          return up ? order : -order;
        });
        for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
        th.setAttribute("aria-sort", up ? "ascending" : "descending");
        body.append(...rows);
      });
    }
  }

  function copy(button) {
    const code = document.getElementById(button.dataset.of), done = () => { button.textContent = "copied"; };
    const select = () => {
      getSelection().selectAllChildren(code);
      if (document.execCommand("copy")) done(); else button.textContent = "selected: press Ctrl+C";
    };
    if (navigator.clipboard) navigator.clipboard.writeText(code.textContent).then(done, select); else select();
  }

  for (const button of document.querySelectorAll("button[data-of]")) {
    button.hidden = false;
    button.addEventListener("click", () => copy(button));
  }
  // The document, which is packed where it is long.
  async function save(id, name) {
    const script = document.getElementById(id);
    let stream = new Blob([script.textContent]).stream();
    if (script.type === "application/gzip+base64")
      stream = new Blob([Uint8Array.from(atob(script.textContent), c => c.charCodeAt(0))]).stream().pipeThrough(new DecompressionStream("gzip"));
    const link = document.createElement("a");
    link.href = URL.createObjectURL(await new Response(stream).blob());
    link.download = name;
    link.click();
    URL.revokeObjectURL(link.href);
  }

  for (const button of document.querySelectorAll("button[data-save]")) {
    button.hidden = false;
    button.addEventListener("click", () => save(button.dataset.save, button.dataset.as || "summary.json"));
  }
  for (const table of document.querySelectorAll("table")) sortable(table);
  // A link to a row opens what hides it.
  const open = () => { for (let at = document.querySelector(":target"); at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true; };
  addEventListener("hashchange", open);
  open();
  // What a reader of the paper must know is on it.
  const opened = [];
  addEventListener("beforeprint", () => { for (const notes of document.querySelectorAll("details.notes:not([open])")) { notes.open = true; opened.push(notes); } });
  addEventListener("afterprint", () => { while (opened.length) opened.pop().open = false; });
  if (typeof Chart === "undefined") return;
  for (const details of document.querySelectorAll("figure[data-chart]:not([id$=-beside]) details")) details.open = false;
  drawAll();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  addEventListener("beforeprint", () => { document.documentElement.classList.add("paper"); drawAll(); });
  addEventListener("afterprint", () => { document.documentElement.classList.remove("paper"); drawAll(); });
})();
