import * as words from './lead-vocabulary.js';
import type { SeededRandom } from './seeded-random.js';

/** One lead before a CRM loses or garbles any of its data. */
export type LeadProfile = ReturnType<typeof drawLeadProfile>;

/** Draws one lead: first the person and the company, then the behaviour, which depends on the buying intent. */
export function drawLeadProfile(random: SeededRandom) {
  const source = random.weighted(words.leadSources);
  const industry = random.weighted(words.industries);
  const employees = Math.max(1, Math.round(Math.exp(4.6 + 1.6 * random.normal())));
  const revenueUsd = employees * industry.revenuePerHeadUsd * Math.exp(0.5 * random.normal());
  const seniority = random.weighted(senioritiesAt(employees));
  /** About normal(0, 1). It is in no record, but the behaviour follows it. */
  const intent = source.intent + 0.95 * random.normal();
  return {
    company: companyName(random),
    contact: `${random.pick(words.firstNames)} ${random.pick(words.lastNames)}`,
    jobTitle: random.pick<string>(words.jobTitles[seniority.value]),
    source,
    industry,
    country: random.weighted(words.countries),
    seniority,
    currentSolution: random.weighted(words.currentSolutions),
    products: words.products.filter(({ weight }) => random.chance((weight / 100) * Math.exp(0.3 * intent))),
    employees,
    annualRevenueUsd: Math.max(1000, Math.round(revenueUsd / 1000) * 1000),
    intent,
    behaviour: drawBehaviour(random, { intent, sourceName: source.value }),
  };
}

/**
 * The probability (0 to 1) that a lead converts. Only the generator knows it. The log-odds add up person and company,
 * behaviour, one interaction (senior, and asked for a demo), and a part of the intent. The latter leaves no trace in
 * the table, so no model can be perfect.
 */
export function conversionProbability(profile: LeadProfile): number {
  const { behaviour, seniority } = profile;
  const isSenior = ['Director', 'VP', 'C-Level'].includes(seniority.value);
  const logOdds =
    -3.2 + // puts the share of converted leads near 14 %
    firmographicLogOdds(profile) +
    behaviourLogOdds(behaviour) +
    (isSenior && behaviour.demoRequested ? 0.7 : 0) +
    0.2 * profile.intent;
  return logistic(logOdds);
}

/** Some names carry a comma or quotes. */
function companyName(random: SeededRandom): string {
  const first = random.pick(words.companyStems);
  const second = random.pick(words.companyTrades);
  const name = random.chance(0.02) ? `"${first}" ${second}` : `${first} ${second}`;
  return random.chance(0.55) ? `${name}${random.pick(words.legalForms)}` : name;
}

/** In a smaller company the chief fills in the form more often. */
function senioritiesAt(employees: number) {
  const smallness = Math.max(0, 3 - Math.log10(employees));
  return words.seniorities.map(({ value, weight, effect }) => ({
    value,
    weight: value === 'C-Level' ? weight * (0.4 + smallness) : weight,
    effect,
  }));
}

function drawBehaviour(random: SeededRandom, lead: { readonly intent: number; readonly sourceName: string }) {
  const { intent, sourceName } = lead;
  const createdDaysAgo = Math.min(400, 1 + random.exponential(90));
  const quietDays = random.exponential(34 * Math.exp(-0.5 * intent));
  const isCold = sourceName === 'Cold Outreach' || sourceName === 'List Import';
  const neverActive = random.chance(isCold ? 0.45 : 0.03);
  const lastActivityDaysAgo = neverActive ? null : Math.min(createdDaysAgo, quietDays);
  const recentlyActive = lastActivityDaysAgo !== null && lastActivityDaysAgo < 30;
  const websiteVisits = recentlyActive ? random.poisson(Math.exp(0.8 + 0.5 * intent)) : 0;
  const emailOptOut = random.chance(logistic(-2.7 - 0.6 * intent));
  const emailOpens = neverActive || emailOptOut ? 0 : random.poisson(Math.exp(0.7 + 0.5 * intent));
  const pages = 1 + Math.exp(0.4 + 0.25 * intent + 0.5 * random.normal());
  const clickRate = 0.95 * logistic(-1.6 + 0.5 * intent + 0.7 * random.normal());
  return {
    createdDaysAgo,
    lastActivityDaysAgo,
    websiteVisits,
    pagesPerVisit: websiteVisits > 0 ? Number(pages.toFixed(1)) : null,
    emailOptOut,
    emailOpens,
    /** Clicks per opened e-mail, 0 to 0.95. */
    emailClickRate: emailOpens > 0 ? Number(clickRate.toFixed(3)) : null,
    demoRequested: !neverActive && random.chance(logistic(-2.2 + 1.1 * intent)),
  };
}

/** Best near 250 employees: smaller companies have no budget, larger ones take too long. */
function firmographicLogOdds(profile: LeadProfile): number {
  const sizeMisfit = Math.log10(profile.employees) - Math.log10(250);
  const wealthPerHead = Math.log(profile.annualRevenueUsd / profile.employees / 180_000);
  const { source, industry, country, seniority, currentSolution } = profile;
  const choices = [source, industry, country, seniority, currentSolution, ...profile.products];
  return choices.reduce((sum, { effect }) => sum + effect, 0) - 0.7 * sizeMisfit ** 2 + 0.25 * wealthPerHead;
}

function behaviourLogOdds(behaviour: LeadProfile['behaviour']): number {
  const quietDays = behaviour.lastActivityDaysAgo ?? 90;
  return (
    (behaviour.demoRequested ? 1 : 0) +
    (behaviour.emailOptOut ? -0.8 : 0) +
    0.35 * Math.log1p(behaviour.websiteVisits) +
    0.25 * Math.log1p(behaviour.emailOpens) +
    0.12 * (behaviour.pagesPerVisit ?? 1) +
    1.2 * (behaviour.emailClickRate ?? 0) -
    0.012 * Math.min(quietDays, 90) -
    0.002 * Math.min(behaviour.createdDaysAgo, 180)
  );
}

const logistic = (logOdds: number): number => 1 / (1 + Math.exp(-logOdds));
