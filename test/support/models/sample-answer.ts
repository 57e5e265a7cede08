/** Fields that the model of `sampleBundle()` knows. */
export interface SampleLead {
  readonly company_size?: number;
  readonly demo_requested?: boolean;
  readonly lead_source?: string;
}

/** The score of a lead by the default model of `sampleBundle()`, computed here from its weights. */
export function sampleAnswer(lead: SampleLead): { score: number; conversion_likelihood: number } {
  const { company_size: size = 0, demo_requested: demo = false, lead_source: source } = lead;
  const margin = -0.5 + 0.01 * size + (demo ? 1 : 0) + sourceWeight(source);
  const raw = 1 / (1 + Math.exp(-margin));
  return { score: Math.round(100 * raw), conversion_likelihood: Math.round(10_000 * raw) / 10_000 };
}

function sourceWeight(source: string | undefined): number {
  if (source === undefined) return -0.5;
  return { Webinar: 0.25, Referral: 0.75 }[source] ?? -0.25;
}
