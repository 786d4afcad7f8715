import { splitWords } from '../../kernel/base/split-words.ts'
import type { Flow, FlowsConfig } from './flow.ts'

interface FoundFlow {
  id: string
  flow: Flow
  /** Share of the words of the query that the flow has, from 0 to 1. */
  score: number
  matched: string[]
}

/** Flows that have at least one word of the query, the best first; all of them for no words. */
export const findFlows = (flows: FlowsConfig, query: string): FoundFlow[] => {
  const words = [...new Set(splitWords(query))]
  return Object.entries(flows)
    .map(([id, flow]) => {
      const own = new Set(textsOf(id, flow).flatMap(splitWords))
      const matched = words.filter(word => [...own].some(each => each.startsWith(word)))
      return { id, flow, matched, score: words.length === 0 ? 1 : matched.length / words.length }
    })
    .filter(({ score }) => score > 0)
    .toSorted((a, b) => b.score - a.score || (a.id < b.id ? -1 : 1))
}

const textsOf = (id: string, { description, team = '', steps }: Flow): string[] => [
  id,
  description,
  team,
  ...steps.flatMap(step => [step.id, step.skill ?? '', step.gate ?? '', step.summary ?? '']),
]
