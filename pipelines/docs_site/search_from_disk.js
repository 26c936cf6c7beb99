// A browser starts no worker for a page from the disk. There the script of the search runs in a hidden frame of the page.
if (location.protocol === "file:") {
  window.Worker = class {
    constructor(address) {
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inside = this.frame.contentWindow;
      inside.postMessage = (data) => setTimeout(() => this.onmessage?.({ data }));
      const script = inside.document.createElement("script");
      script.src = new URL(address, document.baseURI);
      this.loaded = new Promise((resolve) => { script.onload = resolve; });
      script.onerror = (event) => this.onerror?.(event);
      inside.document.body.append(script);
    }

    async postMessage(data) {
      await this.loaded;
      this.frame.contentWindow?.onmessage({ data });
    }

    terminate() {
      this.frame.remove();
    }
  };
}
