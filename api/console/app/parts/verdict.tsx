const classNames: Readonly<Record<string, readonly [string, string]>> = {
  passed: ['good', 'passed'],
  failed: ['bad', 'failed'],
  too_early_to_grade: ['warn', 'too early'],
  unresolved: ['warn', 'unresolved'],
  not_applicable: ['', 'not graded'],
};

/** The state of a model's validation in one or two words. */
export function VerdictBadge({ state }: { readonly state: string }) {
  const [className, words] = classNames[state] ?? ['', state];
  return <span class={`badge ${className}`}>{words}</span>;
}

/** Whether programs may call a model. */
export function LiveBadge({ isOn }: { readonly isOn: boolean }) {
  return <span class={isOn ? 'badge on' : 'badge'}>Live API {isOn ? 'on' : 'off'}</span>;
}
