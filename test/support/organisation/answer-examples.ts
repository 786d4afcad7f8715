import type { ExampleAnswer } from '../../../bin/worked-example.ts'
import { callSkills } from './call-skills.ts'
import { liveOn } from './history.ts'
import { openOrganisation } from './organisation.ts'

/** Answers of the example organisation to the examples of every skill, by skill. */
export const answerExamples = async (): Promise<Map<string, ExampleAnswer[]>> => {
  const ends: (() => unknown)[] = []
  const t = { teardown: (end: () => unknown) => void ends.push(end) }
  try {
    const organisation = await openOrganisation(t)
    await liveOn(organisation)
    return await callSkills(organisation, organisation.demo.operator)
  } finally {
    for (const end of ends.toReversed()) await end()
  }
}
