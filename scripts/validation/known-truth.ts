/** A world in which it is known how often the leads of each score band convert. */
export interface KnownTruth {
  readonly name: string;
  /** What it is there to show. */
  readonly meaning: string;
  readonly leadsADay: number;
  /** Share of all leads that convert within the horizon. */
  readonly baseRate: number;
  /** Rate of each score band by the base rate, lowest scores first; their mean is 1. */
  readonly lifts: readonly number[];
  /** What the model's likelihoods promise, by what is true: 1 when it is calibrated. */
  readonly promise?: number;
  /** Share of leads that outcome data names; all by default. */
  readonly named?: number;
}

const flat = [1, 1, 1, 1, 1];
const lift2 = [0.4, 0.7, 0.9, 1, 2];
const lift15 = [0.6, 0.85, 1, 1.05, 1.5];

/** The worlds whose years are simulated many times over. */
export const knownTruths: readonly KnownTruth[] = [
  {
    name: 'useless model',
    meaning: 'scores say nothing: it must not pass',
    leadsADay: 20,
    baseRate: 0.05,
    lifts: flat,
  },
  {
    name: 'useless model, many leads',
    meaning: 'the same with four times the leads, and so more looks',
    leadsADay: 80,
    baseRate: 0.05,
    lifts: flat,
  },
  {
    name: 'inverted model',
    meaning: 'high scores convert less: it must not pass',
    leadsADay: 20,
    baseRate: 0.05,
    lifts: [...lift2].reverse(),
  },
  {
    name: 'lift 2',
    meaning: 'a good model with enough leads: it should pass',
    leadsADay: 20,
    baseRate: 0.05,
    lifts: lift2,
  },
  {
    name: 'lift 2, barely enough leads',
    meaning: 'some fifty conversions in the year',
    leadsADay: 4,
    baseRate: 0.05,
    lifts: lift2,
  },
  {
    name: 'lift 1.5',
    meaning: 'a model that is better than chance',
    leadsADay: 20,
    baseRate: 0.05,
    lifts: lift15,
  },
  {
    name: 'lift 2, too few leads',
    meaning: 'nothing can be said of it within the year',
    leadsADay: 1,
    baseRate: 0.05,
    lifts: lift2,
  },
  {
    name: 'empty promises',
    meaning: 'likelihoods five times too high, and 30 conversions never come',
    leadsADay: 4,
    baseRate: 0.02,
    lifts: flat,
    promise: 5,
  },
  {
    name: 'nine of ten leads named',
    meaning: 'outcome data that leaves leads out proves nothing, however good the model is',
    leadsADay: 20,
    baseRate: 0.05,
    lifts: lift2,
    named: 0.9,
  },
];
