import { parseArgs } from 'node:util'
import { scoreWorld } from '../support/truth-set.ts'

/** F1 of pairs that the registry has to reach in every world. */
const MIN_F1 = 0.98
/** Precision of pairs that it has to reach among spoofed hosts. */
const MIN_SPOOFED_PRECISION = 0.98

/** Generated worlds with known identities, each with a seed of its own: the registry finds them. */
export const main = async (argv: string[]): Promise<boolean> => {
  const options = {
    seeds: { type: 'string', default: '20' },
    first: { type: 'string', default: '1' },
    things: { type: 'string', default: '200' },
    hours: { type: 'string', default: '24' },
  } as const
  const { values } = parseArgs({ args: argv, options })
  const first = Number(values.first)
  let holds = true
  for (let seed = first; seed < first + Number(values.seeds); seed += 1) {
    const score = scoreWorld(seed, Number(values.things), Number(values.hours))
    const { sightings, things, entities, precision, recall, f1, contradictions, mistakes } = score
    const { spoofedPrecision, multiHomedRecall } = score
    const isRight =
      f1 >= MIN_F1 && spoofedPrecision >= MIN_SPOOFED_PRECISION && contradictions === 0
    holds &&= isRight
    const rates = [f1, precision, recall].map(rate => rate.toFixed(5)).join(' ')
    console.log(
      `seed ${seed}: ${sightings} sightings, ${things} things, ${entities} entities; ` +
        `F1, precision, recall ${rates}; precision of spoofed hosts ${spoofedPrecision.toFixed(5)}, ` +
        `recall of hosts with two interfaces ${multiHomedRecall.toFixed(5)}; ` +
        `${contradictions} contradictions`,
    )
    if (!isRight) console.log(mistakes.slice(0, 20).join('\n'))
  }
  return holds
}
