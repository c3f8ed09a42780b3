/** A browser tab that says what is being waited for, until it is led to its page. */
export class WaitingTab {
  private readonly tab: Window | null;

  /**
   * Open the tab. It has to be opened while the click is being handled: browsers take a tab that
   * comes later for an advertisement.
   */
  constructor(title: string, text: string) {
    this.tab = window.open('', '_blank');
    if (!this.tab) {
      return;
    }
    const page = this.tab.document;
    page.title = title;
    page.body.style.cssText = 'font: 16px sans-serif; max-width: 40em; margin: 15vh auto;';
    page.body.textContent = text;
  }

  /** Lead the tab to a page; false where the browser did not let it open. */
  show(url: string): boolean {
    if (!this.tab || this.tab.closed) {
      return false;
    }
    this.tab.location.replace(url);
    return true;
  }

  close(): void {
    this.tab?.close();
  }
}
