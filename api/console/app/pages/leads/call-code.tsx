import { useState } from 'preact/hooks';
import { Choice } from '../../parts/choice.js';
import { Code } from '../../parts/forms/copy.js';
import { Card } from '../../parts/page.js';
import type { RecordValues } from './input-notes.js';

const languages = ['curl', 'Python', 'Node'] as const;

/** The call that scores the record of the playground from a program. */
export function CallCode(props: { readonly apiUrl: string; readonly modelId: string; readonly values: RecordValues }) {
  const [language, setLanguage] = useState<(typeof languages)[number]>('curl');
  const body = { model_id: props.modelId, explain: true, records: [props.values] };
  const address = `${props.apiUrl}/v1/score`;
  const json = JSON.stringify(body, null, 2);
  const texts = {
    // A single quote would end the shell's quoted text.
    curl: `curl -s ${address} \\
  -H "Authorization: Bearer $LEADSCORE_KEY" \\
  -H 'Content-Type: application/json' \\
  -d '${json.replaceAll("'", "'\\''")}'`,
    Python: `import json, os, urllib.request

request = urllib.request.Request(
    "${address}",
    data=json.dumps(json.loads(r'''${json}''')).encode(),
    headers={"Authorization": "Bearer " + os.environ["LEADSCORE_KEY"], "Content-Type": "application/json"},
)
print(json.load(urllib.request.urlopen(request)))`,
    Node: `const response = await fetch('${address}', {
  method: 'POST',
  headers: { Authorization: \`Bearer \${process.env.LEADSCORE_KEY}\`, 'Content-Type': 'application/json' },
  body: JSON.stringify(${json}),
});
console.log(await response.json());`,
  };
  return (
    <Card
      title="The same call from your code"
      aside={<Choice label="Language" options={languages} chosen={language} choose={setLanguage} />}
    >
      <Code label={`Call in ${language}`} text={texts[language]} />
    </Card>
  );
}
