import t, { type Test } from 'tap'
import { startStack, type TestStack } from '../../support/stack.ts'
import { testAgentCard } from './agent-card.ts'
import { testConversations } from './conversations.ts'
import { testDraining } from './draining.ts'
import { testGates } from './gates.ts'
import { testHostProbes } from './host-probes.ts'
import { testMetrics } from './metrics.ts'
import { testOpenai } from './openai.ts'

/*
 * One coordinator and one cell with the bundled models, for all system tests that need no other
 * set-up. A test that kills one of them starts it again; the one that stops the cell is the last.
 */

const GROUPS: [title: string, group: (t: Test, stack: TestStack) => Promise<void>][] = [
  ['the agent card promises what is built, in full', testAgentCard],
  ['metrics and usage count what the stack served', testMetrics],
  ['the unmodified openai client works against a coordinator and a cell', testOpenai],
  ['a major release is approved on the command line', testGates],
  ['people converse with the bundled models', testConversations],
  ['operators look at the machine of a cell', testHostProbes],
  ['a cell is taken out of routing', testDraining],
]

const stack = await startStack()
t.teardown(stack.stop)
for (const [title, group] of GROUPS) t.test(title, t => group(t, stack))
