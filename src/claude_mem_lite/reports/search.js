"use strict";
const box = document.getElementById("search"), found = document.getElementById("found");
const rows = [...document.querySelectorAll("article, #learnings tbody tr")];
const texts = rows.map((row) => row.textContent.toLowerCase());
box.parentElement.hidden = false;
box.addEventListener("input", () => {
  const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  rows.forEach((row, at) => {
    row.hidden = !words.every((word) => texts[at].includes(word));
    shown += !row.hidden;
  });
  found.textContent = words.length ? `${shown} of ${rows.length}` : "";
});
