#include "server/pages/live_script.h"

namespace quotient::pages {

absl::string_view LiveScript() {
  return R"js("use strict";
// Fetches the page again as often as it asks for (data-refresh, in seconds), and replaces the parts
// of <main> that changed. A change of the state (data-state) is told to who does not see the page.
const live = document.getElementById("live");
const marked = (name) => document.querySelector("[data-" + name + "]")?.dataset[name];

function show(fresh) {
  const before = marked("state");
  const focused = document.activeElement?.getAttribute("href");
  const main = document.querySelector("main");
  const parts = [...main.children];
  const newParts = [...fresh.querySelector("main").children];
  if (parts.length === newParts.length) {
    parts.forEach((part, i) => {
      if (part.outerHTML !== newParts[i].outerHTML) part.replaceWith(newParts[i]);
    });
  } else {
    main.replaceChildren(...newParts);
  }
  if (focused && document.activeElement === document.body) {
    document.querySelector("main a[href='" + CSS.escape(focused) + "']")?.focus();
  }
  document.title = fresh.title;
  const told = marked("state") === before ? "" : marked("state");
  if (told || live.textContent.startsWith("No answer")) live.textContent = told;
}

async function refresh() {
  try {
    const answer = await fetch(location.href, {
      cache: "no-store",
      signal: AbortSignal.timeout(10000),
    });
    if (!answer.ok) throw new Error(answer.statusText);
    show(new DOMParser().parseFromString(await answer.text(), "text/html"));
  } catch (error) {
    if (!live.textContent.startsWith("No answer")) {
      live.textContent = "No answer since " + new Date().toLocaleTimeString();
    }
  }
  schedule();
}

function schedule() {
  const seconds = Number(marked("refresh"));
  if (!seconds) return;
  if (document.hidden) {
    document.addEventListener("visibilitychange", schedule, { once: true });
  } else {
    setTimeout(refresh, 1000 * seconds);
  }
}

schedule();
)js";
}

}  // namespace quotient::pages
