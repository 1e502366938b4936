// Pages opened from the disk: browsers start no worker from file: addresses, so the search runs in a hidden frame instead.
// As between a page and its worker, messages are copies and arrive later, never within the call that sends them.
if (location.protocol === "file:") {
  const deliver = (data, take) => {
    const event = new MessageEvent("message", { data: structuredClone(data) });
    setTimeout(() => take(event));
  };
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.appendChild(this.frame);
      const inner = this.frame.contentWindow;
      this.ready = new Promise((resolve, reject) => {
        inner.postMessage = (data) =>
          deliver(data, (event) => {
            if (this.onmessage) this.onmessage(event);
            this.dispatchEvent(event);
          });
        const script = inner.document.createElement("script");
        script.src = url;
        script.onload = resolve;
        script.onerror = reject;
        inner.document.body.appendChild(script);
      });
      this.ready.catch((error) => this.onerror && this.onerror(error));
    }
    postMessage(data) {
      this.ready.then(() => deliver(data, (event) => this.frame.contentWindow?.dispatchEvent(event)));
    }
    terminate() {
      this.frame.remove();
    }
  };
}
