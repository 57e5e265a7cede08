import { useState } from 'preact/hooks';

/** A button that copies a text, and says whether it did. */
export function Copy({ text, label = 'Copy' }: { readonly text: string; readonly label?: string }) {
  const [state, setState] = useState('');
  const copy = () =>
    // Undefined on a page without TLS.
    (navigator.clipboard?.writeText(text) ?? Promise.reject(new Error('no clipboard'))).then(
      () => setState('Copied'),
      () => setState('Not copied: select the text and copy it'),
    );
  return (
    <span class="row">
      <button type="button" class="button" onClick={copy}>
        {label}
      </button>
      <span role="status" class="small soft">
        {state}
      </span>
    </span>
  );
}

/** Lines of code with a button that copies them. */
export function Code({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    <div class="code">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: people without a mouse must be able to scroll */}
      <section class="scroll" tabIndex={0} aria-label={label}>
        <pre>{text}</pre>
      </section>
      <Copy text={text} />
    </div>
  );
}
