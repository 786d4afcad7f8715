import * as z from 'zod'
import { DataState, dataState } from '../../../kernel/declaration/data-state.ts'
import { defineSkill } from '../../../kernel/declaration/skill.ts'
import { findFlows } from '../find-flows.ts'
import type { FlowViews } from '../open.ts'
import { FlowView, flowViewOf } from './flow-view.ts'

export default defineSkill({
  id: 'find-flow',
  group: 'fleet',
  name: 'Find flow',
  description: 'Find configured flows by words of their id, description, steps and skills.',
  tags: ['flows', 'search'],
  access: 'operator',
  effect: 'read',
  input: z.strictObject({
    query: z
      .string()
      .max(200)
      .exactOptional()
      .describe('Words to look for; omit it to list all flows.'),
  }),
  examples: [{ query: 'keycloak repair' }],
  output: z.object({
    data_state: DataState,
    flows: z.array(
      FlowView.extend({
        score: z.number().describe('Share of the words of the query that the flow has, 0 to 1.'),
        matched_words: z.array(z.string()),
      }),
    ),
  }),
  toLoad: '`flows` in the configuration of the coordinator; docs/flows.md has an example',
  run: ({ query = '' }, { flows }: FlowViews) => ({
    data_state: dataState(Object.keys(flows.flows).length),
    flows: findFlows(flows.flows, query).map(({ id, flow, score, matched }) => ({
      ...flowViewOf(id, flow),
      score,
      matched_words: matched,
    })),
  }),
})
