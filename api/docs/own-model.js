// After Authorize, "Try it out" on the page at /docs has a model of the key, and values that the model's fields take.

/** Values by the type of a field. They are no lead's. */
const exampleOf = {
  number: () => 10,
  boolean: () => true,
  date: () => new Date().toISOString().slice(0, 10),
  category: ({ categories = [] }) => categories[0] ?? '',
  multi: ({ categories = [] }) => categories[0] ?? '',
};

/**
 * The OpenAPI document whose scoring calls score with a model of the key. They have no ids of leads, because a call of
 * a live key is stored.
 * @param text the document
 * @param exampleId the model that it names
 */
function withOwnModel(text, exampleId, { model_id: modelId, fields }) {
  const record = Object.fromEntries(fields.map((field) => [field.field, exampleOf[field.type](field)]));
  const wrapped = Object.fromEntries(Object.entries(record).map(([name, value]) => [name, { value }]));
  const containers = { records: [record], record, inputFields: record, properties: wrapped, data: record };
  const texts = Object.fromEntries(Object.entries(record).map(([name, value]) => [name, String(value)]));
  const own = JSON.parse(text.replaceAll(exampleId, modelId));
  for (const path of ['/v1/score', '/v1/webhooks/score', '/score', '/webhooks/score']) {
    const operation = own.paths[path].post;
    for (const [type, { examples }] of Object.entries(operation.requestBody.content))
      for (const [index, example] of Object.values(examples).entries()) {
        const before = example.value;
        const { meta, explain, input_report } = before;
        const container = Object.keys(containers).find((name) => name in before);
        const sent = type === 'application/json' ? record : texts;
        const members = container === undefined ? sent : { [container]: containers[container] };
        // A member without a value is left out.
        example.value = JSON.parse(JSON.stringify({ model_id: modelId, explain, input_report, meta, ...members }));
        if (index > 0 || type !== 'application/json') continue;
        for (const sample of operation['x-codeSamples'])
          sample.source = sample.source.replace(literal(before, sample.label), () =>
            literal(example.value, sample.label),
          );
      }
  }
  return own;
}

/** A body as the sample of a language writes it: see `code-samples.ts`. */
function literal(body, label) {
  const json = JSON.stringify(body, null, 2);
  if (label === 'curl') return json.replaceAll("'", "'\\''");
  if (label === 'Node') return json.replaceAll('\n', '\n  ');
  const words = { true: 'True', false: 'False', null: 'None' };
  return json
    .replaceAll(/"(?:[^"\\]|\\.)*"|true|false|null/g, (word) => words[word] ?? word)
    .replaceAll('\n', '\n    ');
}

/** A model that the key can use, with its fields. @throws Error with words for the page */
async function modelOf(key) {
  const read = async (path) => {
    const reply = await fetch(new URL(path, location.href), { headers: { Authorization: `Bearer ${key}` } });
    const body = await reply.json();
    if (!reply.ok) throw new Error(body.error.message);
    return body;
  };
  const { models } = await read('v1/models');
  const model = models.find((each) => each.live_api) ?? models[0];
  if (model === undefined) throw new Error('The workspace of the key has no model: an administrator imports one.');
  return await read(`v1/models/${encodeURIComponent(model.model_id)}`);
}

/** A plugin of Swagger UI. Logout brings the examples back. */
globalThis.ownModelPlugin = () => {
  let examples;
  /** The key whose model is read last: replies may come in another order, or after Logout. */
  let latest;
  const say = (words) => {
    const line = document.getElementById('filled');
    line.textContent = words;
    line.hidden = words === '';
  };
  const authorize = (original, system) => (keys) => {
    const result = original(keys);
    // Nothing may have been typed.
    const value = Object.values(keys)[0]?.value;
    if (!value) return result;
    const own = { value };
    latest = own;
    examples ??= system.specSelectors.specStr();
    modelOf(typeof value === 'string' ? value : value.username)
      .then((model) => {
        if (own !== latest) return;
        const { model: exampleId } = document.getElementById('reference').dataset;
        system.specActions.updateSpec(JSON.stringify(withOwnModel(examples, exampleId, model)));
        say(`"Try it out" scores with ${model.name} (${model.model_id}), and with values that its fields take.`);
      })
      .catch((error) => {
        if (own === latest) say(`"Try it out" has examples only, which your key cannot score. ${error.message}`);
      });
    return result;
  };
  const logout = (original, system) => (names) => {
    latest = undefined;
    if (examples !== undefined) system.specActions.updateSpec(examples);
    say('');
    return original(names);
  };
  return { statePlugins: { auth: { wrapActions: { authorize, logout } } } };
};
