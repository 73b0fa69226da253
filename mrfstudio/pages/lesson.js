"use strict";
// Questions: say what you expect, then see. Pointing at a symbol of a formula marks it everywhere on the page.
document.querySelectorAll(".question").forEach((part) => {
  const right = Number(part.dataset.right), seen = part.querySelector(".seen");
  const buttons = [...part.querySelectorAll("button[data-choice]")];
  buttons.forEach((button) => button.addEventListener("click", () => {
    const picked = Number(button.dataset.choice);
    buttons.forEach((each) => { each.disabled = true; });
    button.setAttribute("aria-pressed", "true");
    buttons[right].dataset.mark = "✓";
    if (picked !== right) button.dataset.mark = "✗";
    part.querySelector(".verdict").textContent = picked === right ? "As you said." : `It came otherwise: ${buttons[right].textContent}`;
    if (seen) seen.hidden = false;
  }));
});
document.querySelectorAll("[data-symbol]").forEach((shape) => {
  const all = () => document.querySelectorAll(`[data-symbol="${shape.dataset.symbol}"]`);
  shape.addEventListener("pointerenter", () => all().forEach((each) => each.classList.add("lit")));
  shape.addEventListener("pointerleave", () => all().forEach((each) => each.classList.remove("lit")));
});
document.body.dataset.ready = "yes";
