import type { SeededRandom } from '../../../../scripts/leads/seeded-random.js';
import { PairedLeads } from '../../../../worker/grading/compare/paired-leads.js';

/** How well versions know their leads. */
export interface SimulatedSkill {
  /** Share of the leads that convert, about. */
  readonly rate: number;
  /** Standard deviation of each version's own error. The part of a lead that decides has 1. */
  readonly baseNoise: number;
  readonly candidateNoise: number;
}

const slope = 1.6;

/**
 * Draws leads. Each has a part that decides on its conversion. Each version sees that part with an error of its own, so
 * versions with one noise are equally good and yet differ.
 */
export function drawLead(
  random: SeededRandom,
  { rate, baseNoise, candidateNoise }: SimulatedSkill,
): readonly [base: number, candidate: number, converted: boolean] {
  const decisive = random.normal();
  const converted = random.chance(logistic(slope * decisive + Math.log(rate / (1 - rate)) - slope / 2));
  const seen = (noise: number): number =>
    Math.round(10_000 * logistic((decisive + noise * random.normal()) / Math.sqrt(1 + noise * noise) - 2));
  return [seen(baseNoise), seen(candidateNoise), converted];
}

export function drawLeads(random: SeededRandom, count: number, skill: SimulatedSkill): PairedLeads {
  const leads = new PairedLeads();
  for (let lead = 0; lead < count; lead += 1) leads.add(...drawLead(random, skill));
  return leads;
}

const logistic = (logit: number): number => 1 / (1 + Math.exp(-logit));
