import { type RouteAnswer, toRouteAnswer } from '../../../bin/response-examples.ts'
import type { ExampleAnswer } from '../../../bin/worked-example.ts'
import { callOperations } from './call-operations.ts'
import { callSkills } from './call-skills.ts'
import { liveOn } from './history.ts'
import { openOrganisation } from './organisation.ts'

interface Answers {
  /** Answers to the examples of every skill, by skill. */
  skills: Map<string, ExampleAnswer[]>
  /** The answer of every skill and operation to one call, by its id. */
  responses: Map<string, RouteAnswer>
}

/** Answers of the example organisation. */
export const answerExamples = async (): Promise<Answers> => {
  const ends: (() => unknown)[] = []
  const t = { teardown: (end: () => unknown) => void ends.push(end) }
  try {
    const organisation = await openOrganisation(t)
    await liveOn(organisation)
    const skills = await callSkills(organisation, organisation.demo.operator)
    const operations = await callOperations(organisation)
    return { skills, responses: joinAnswers(skills, operations) }
  } finally {
    for (const end of ends.toReversed()) await end()
  }
}

/** Answers of skills to their first example, and those of operations. */
export const joinAnswers = (
  skills: ReadonlyMap<string, readonly ExampleAnswer[]>,
  operations: ReadonlyMap<string, RouteAnswer>,
): Map<string, RouteAnswer> => {
  const firsts = [...skills].flatMap(([id, [first]]): [string, RouteAnswer][] =>
    first === undefined ? [] : [[id, toRouteAnswer(first)]],
  )
  return new Map([...firsts, ...operations])
}
