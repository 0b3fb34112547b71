// The SQL box: Ctrl+Enter asks; the answer comes into the page; meanwhile it can be cancelled.
// The form of named queries shows the fields that the chosen query has.
//
// Without it the form is sent, and the answer is another page; all fields are shown.
"use strict";
(() => {
  const form = document.getElementById("ask");
  if (!form) return;
  const box = form.querySelector("textarea");
  const run = form.querySelector("button.main");
  const busy = form.querySelector(".busy");
  const told = form.querySelector("output");
  let asking = null; // what aborts the question that is being asked

  /** The part of the page that the server makes for a question. */
  async function answer(signal) {
    const response = await fetch(form.action, {
      method: "POST",
      body: new URLSearchParams(new FormData(form)),
      signal,
    });
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const found = page.getElementById("result");
    if (found) return found;
    const error = document.createElement("pre"); // the store is gone, or something like it
    error.className = "error";
    error.setAttribute("role", "alert");
    error.textContent = page.querySelector("main")?.innerText.trim() || page.body.innerText.trim();
    return error;
  }

  function show(content) {
    const result = document.getElementById("result");
    result.replaceChildren(...(content.id === "result" ? content.childNodes : [content]));
    result.dispatchEvent(new CustomEvent("nestmap-added", { bubbles: true }));
    box.setAttribute("aria-invalid", String(Boolean(result.querySelector(".error"))));
  }

  async function ask() {
    asking?.abort();
    const mine = (asking = new AbortController());
    const began = Date.now();
    const clock = setInterval(() => {
      told.textContent = `Looking… ${Math.round((Date.now() - began) / 1000)} s`;
    }, 1000);
    told.textContent = "Looking…";
    busy.hidden = false;
    try {
      show(await answer(mine.signal));
      if (asking === mine) told.textContent = "";
    } catch (error) {
      if (asking === mine) told.textContent = mine.signal.aborted ? "Cancelled." : `${error.message}: is nestmap serve still running?`;
    } finally {
      clearInterval(clock);
      if (asking === mine) busy.hidden = true;
    }
  }

  form.addEventListener("submit", (event) => {
    if (event.submitter?.name === "format") return; // to be saved: the browser does that
    event.preventDefault();
    ask();
  });

  box.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      form.requestSubmit(run);
    }
  });

  busy.querySelector("button").addEventListener("click", () => {
    asking?.abort(); // the server notices that nobody waits any more
    box.focus();
  });

  const named = document.querySelector("form.named");
  const query = named.elements.namedItem("query");
  function showFields() {
    const fields = query.selectedOptions[0].dataset.fields.split(" ");
    for (const field of named.elements) {
      if (!field.name || field === query) continue;
      field.disabled = !fields.includes(field.name);
      field.closest("label").hidden = field.disabled;
    }
  }
  query.addEventListener("change", showFields);
  showFields();
})();
