// Starts the page at /docs. Swagger UI draws the operations; the menu is in the page already.

// Swagger UI's dark theme applies below `html.dark-mode`. It does not follow the system's setting.
const prefersDark = matchMedia('(prefers-color-scheme: dark)');
const setTheme = () => document.documentElement.classList.toggle('dark-mode', prefersDark.matches);
prefersDark.addEventListener('change', setTheme);
setTheme();

/**
 * A plugin of Swagger UI: errors are folded, and name only the headers that a successful reply has not. Unfolded, an
 * operation would have twelve screens.
 */
const foldingPlugin = ({ React }) => {
  const element = React.createElement;
  const isSuccess = (status) => status.startsWith('2');

  const withoutKnownHeaders = (Responses) => (props) => {
    const headersOf = (response) => response.get('headers');
    const known = new Set();
    for (const [status, response] of props.responses.entries())
      if (isSuccess(status)) for (const name of headersOf(response)?.keys() ?? []) known.add(name);
    const responses = props.responses.map((response, status) =>
      isSuccess(status) || !headersOf(response)
        ? response
        : response.set(
            'headers',
            headersOf(response).filterNot((_, name) => known.has(name)),
          ),
    );
    return element(Responses, { ...props, responses });
  };

  const withFold = (Response) => (props) => {
    const [isOpen, setOpen] = React.useState(false);
    if (isSuccess(props.code)) return element(Response, props);
    const codes = props.response.getIn(['content', 'application/json', 'examples'])?.keySeq().join(', ');
    const summary = element('summary', null, element('b', null, props.code), ' ', codes);
    const row = isOpen && element('table', null, element('tbody', null, element(Response, props)));
    const fold = element('details', { onToggle: ({ target }) => setOpen(target.open) }, summary, row);
    return element('tr', { className: 'folded' }, element('td', { colSpan: 3 }, fold));
  };
  return { wrapComponents: { responses: withoutKnownHeaders, response: withFold } };
};

/** A plugin of Swagger UI: the samples of `x-codeSamples` and an example of the reply, before the parameters. */
const samplesPlugin = ({ React }) => {
  const element = React.createElement;

  function Samples({ samples, reply }) {
    const [label, setLabel] = React.useState(samples[0].label);
    const shown = samples.find((sample) => sample.label === label);
    const tabs = samples.map((sample) =>
      element(
        'button',
        { key: sample.label, type: 'button', 'aria-pressed': sample === shown, onClick: () => setLabel(sample.label) },
        sample.label,
      ),
    );
    return element(
      'aside',
      { className: 'samples', 'aria-label': 'Samples' },
      element('div', { className: 'tabs', role: 'group', 'aria-label': 'Language' }, tabs),
      element('pre', { tabIndex: 0 }, element('code', null, shown.source)),
      reply && element('h5', null, `Reply ${reply.status}`),
      reply && element('pre', { tabIndex: 0 }, element('code', null, reply.text)),
    );
  }

  /** The first example of a successful reply. */
  function exampleReply({ responses = {} }) {
    for (const [status, { content = {} }] of Object.entries(responses)) {
      const example = Object.values(Object.values(content)[0]?.examples ?? {})[0];
      if (!status.startsWith('2') || example === undefined) continue;
      const { value } = example;
      return { status, text: typeof value === 'string' ? value : JSON.stringify(value, null, 2) };
    }
    return undefined;
  }

  const withSamples = (Parameters) => (props) => {
    const operation = props.operation.toJS();
    const samples = operation['x-codeSamples'];
    return element(
      React.Fragment,
      null,
      samples && element(Samples, { samples, reply: exampleReply(operation) }),
      element(Parameters, props),
    );
  };
  return { wrapComponents: { parameters: withSamples } };
};

addEventListener('DOMContentLoaded', () => {
  const ui = SwaggerUIBundle({
    url: new URL('openapi.json', location.href).href,
    dom_id: '#reference',
    deepLinking: true,
    defaultModelRendering: 'model',
    defaultModelsExpandDepth: 0,
    displayRequestDuration: true,
    requestSnippetsEnabled: true,
    validatorUrl: null,
    plugins: [samplesPlugin, foldingPlugin, globalThis.ownModelPlugin],
  });
  const menu = document.querySelector('.menu');

  menu.addEventListener('click', (event) => {
    const link = event.target.closest('a');
    if (link === null) return;
    const { tag, operation } = link.dataset;
    // Swagger UI reads the anchor only when it starts.
    event.preventDefault();
    ui.layoutActions.show(['operations-tag', tag], true);
    ui.layoutActions.show(['operations', tag, operation], true);
    document.getElementById(`operations-${tag.replaceAll(' ', '_')}-${operation}`)?.scrollIntoView();
  });

  const search = document.getElementById('search');
  search.addEventListener('input', () => {
    const words = search.value.toLowerCase().split(/\s+/);
    for (const line of menu.querySelectorAll('li'))
      line.hidden = !words.every((word) => line.dataset.words.includes(word));
    for (const section of menu.querySelectorAll('section'))
      section.hidden = section.querySelector('li:not([hidden])') === null;
    document.getElementById('nothing').hidden = menu.querySelector('li:not([hidden])') !== null;
  });
});
