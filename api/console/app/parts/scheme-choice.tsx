import { useEffect, useState } from 'preact/hooks';
import { Choice } from './choice.js';

const schemes = ['auto', 'light', 'dark'] as const;
const storageKey = 'scheme';

/** Light, dark, or as the system has it. Stored in this browser. */
export function SchemeChoice() {
  const [scheme, setScheme] = useState(
    () => schemes.find((each) => each === localStorage.getItem(storageKey)) ?? 'auto',
  );
  useEffect(() => {
    document.documentElement.dataset.scheme = scheme;
    localStorage.setItem(storageKey, scheme);
  }, [scheme]);
  return <Choice label="Colours" options={schemes} chosen={scheme} choose={setScheme} />;
}
