/** Add a style sheet to the page, once. */
export function addStyle(id: string, text: string): void {
  if (!document.getElementById(id)) {
    const style = document.createElement('style');
    style.id = id;
    style.textContent = text;
    document.head.append(style);
  }
}
