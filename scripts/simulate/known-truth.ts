/** A simulated world with known conversion rates of each score band. */
export interface KnownTruth {
  readonly name: string;
  /** The property that it shows. */
  readonly meaning: string;
  readonly leadsADay: number;
  /** Share of the leads that convert within the horizon. */
  readonly baseRate: number;
  /** Rate of each score band divided by the base rate, lowest scores first. The mean is 1. */
  readonly lifts: readonly number[];
  /** Likelihoods of the model divided by the true rates: 1 (the default) for a calibrated model. */
  readonly promise?: number;
  /** Share of the leads in the outcome data; 1 by default. */
  readonly named?: number;
}

const flat = [1, 1, 1, 1, 1];
const lift2 = [0.4, 0.7, 0.9, 1, 2];
const lift15 = [0.6, 0.85, 1, 1.05, 1.5];

/** The worlds whose years are simulated many times. */
export const knownTruths: readonly KnownTruth[] = [
  {
    name: 'useless model',
    meaning: 'scores without information: the model must not pass',
    leadsADay: 20,
    baseRate: 0.05,
    lifts: flat,
  },
  {
    name: 'useless model, many leads',
    meaning: 'the same with four times the leads, so with more chances to pass',
    leadsADay: 80,
    baseRate: 0.05,
    lifts: flat,
  },
  {
    name: 'inverted model',
    meaning: 'high scores convert less: the model must not pass',
    leadsADay: 20,
    baseRate: 0.05,
    lifts: [...lift2].reverse(),
  },
  {
    name: 'lift 2',
    meaning: 'a good model with enough leads: the model should pass',
    leadsADay: 20,
    baseRate: 0.05,
    lifts: lift2,
  },
  {
    name: 'lift 2, barely enough leads',
    meaning: 'about fifty conversions in the year',
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
    meaning: 'too little data for a grade within the year',
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
    meaning: 'incomplete outcome data proves nothing, even for a good model',
    leadsADay: 20,
    baseRate: 0.05,
    lifts: lift2,
    named: 0.9,
  },
];
