// What is wrong with how a page looks and is built, as a list of texts; none if all is well.
(() => {
  const wrong = [];
  const count = (selector) => document.querySelectorAll(selector).length;
  if (!document.documentElement.lang) wrong.push("no language");
  if (!document.title) wrong.push("no title");
  if (count("main") !== 1 || count("h1") !== 1) wrong.push("not one <main> with one <h1>");
  if (document.documentElement.scrollWidth > window.innerWidth) {
    wrong.push("wider than the window: " + document.documentElement.scrollWidth);
  }
  let level = 0;
  for (const heading of document.querySelectorAll("h1, h2, h3, h4")) {
    const its = Number(heading.tagName[1]);
    if (its > level + 1) wrong.push("a level is left out before: " + heading.textContent);
    level = its;
  }
  for (const image of document.querySelectorAll("[role=img], progress")) {
    if (!image.getAttribute("aria-label")) wrong.push("no label: " + image.outerHTML.slice(0, 80));
  }
  for (const link of document.querySelectorAll("a")) {
    if (!link.textContent.trim()) wrong.push("a link without a text: " + link.href);
  }

  // Contrast of all texts against what is behind them (WCAG 2.2, 1.4.3).
  const parse = (color) => color.match(/[\d.]+/g).map(Number);
  const luminance = (color) => {
    const [r, g, b] = color.slice(0, 3).map((part) => {
      const value = part / 255;
      return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = parse(getComputedStyle(at).backgroundColor);
      if (color.length === 3 || color[3] === 1) return color;
    }
    return [255, 255, 255];
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode.textContent.trim();
    const element = walker.currentNode.parentElement;
    if (!text || element.closest("title, script, style, noscript, progress")) continue;
    const style = getComputedStyle(element);
    const inDrawing = element.closest("svg");
    const box = inDrawing && element.parentElement.querySelector("rect");
    const under = box ? parse(getComputedStyle(box).fill) : behind(element);
    const ink = parse(inDrawing ? style.fill : style.color);
    const [light, dark] = [luminance(ink), luminance(under)].sort((a, b) => b - a);
    const isLarge = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && style.fontWeight >= 700);
    const contrast = (light + 0.05) / (dark + 0.05);
    if (contrast < (isLarge ? 3 : 4.5)) wrong.push("contrast " + contrast.toFixed(2) + ": " + text.slice(0, 60));
  }
  return wrong;
})()
