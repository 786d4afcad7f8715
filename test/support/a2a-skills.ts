import * as z from 'zod'
import { defineSkill, type Skill } from '../../coordinator/kernel/declaration/skill.ts'
import { ShoalError } from '../../shared/errors.ts'

/** Skills that do what the tests of the surfaces need, and how often they did it. */
export const testSkills = () => {
  const done: string[] = []
  let release: () => void = () => {}
  const held = new Promise<void>(resolve => {
    release = resolve
  })

  const echo = defineSkill({
    group: 'fleet',
    id: 'test-echo',
    name: 'Echo chamber',
    description: 'Say the words again.',
    tags: ['test'],
    access: 'key',
    effect: 'read',
    onCell: true,
    input: z.strictObject({ words: z.string(), times: z.int().min(1).max(3).default(1) }),
    output: z.object({ said: z.array(z.string()), cell: z.string().nullable() }),
    run: ({ words, times }, { cellId }) => {
      done.push(words)
      return { said: Array.from({ length: times }, () => words), cell: cellId ?? null }
    },
  })
  const open = defineSkill({
    group: 'fleet',
    id: 'test-open',
    name: 'Open door',
    description: 'Answer anybody.',
    tags: ['test'],
    access: 'none',
    effect: 'read',
    input: z.strictObject({}),
    output: z.object({ open: z.literal(true) }),
    run: () => ({ open: true as const }),
  })
  const gated = defineSkill({
    group: 'fleet',
    id: 'test-gated',
    name: 'Moving stone',
    description: 'Move a stone when people say yes.',
    tags: ['test'],
    access: 'operator',
    effect: 'gated',
    input: z.strictObject({ stone: z.string() }),
    output: z.object({ moved: z.string() }),
    plan: ({ stone }) => ({
      plan: { skill: 'test-gated', stone },
      summary: `move ${stone}`,
      gate: 'gate.minor-release-approve',
    }),
    run: async ({ stone }: { stone: string }, _context, approval) => {
      await approval?.use(async () => void done.push(stone))
      return { moved: stone }
    },
  })
  const slow = defineSkill({
    group: 'fleet',
    id: 'test-slow',
    name: 'Slow walk',
    description: 'Walk until it is told to stop.',
    tags: ['test'],
    access: 'key',
    effect: 'write',
    mode: 'task',
    timeoutSeconds: 60,
    input: z.strictObject({ steps: z.int().default(2) }),
    output: z.object({ walked: z.int() }),
    run: async ({ steps }, { progress, signal }) => {
      for (let at = 1; at <= steps; at++) progress({ done: at, total: steps })
      await Promise.race([held, new Promise(stop => signal.addEventListener('abort', stop))])
      if (signal.aborted) done.push('stopped')
      return { walked: steps }
    },
  })
  const again = defineSkill({
    group: 'fleet',
    id: 'test-again',
    name: 'Second wind',
    description: 'Walk, and again after a restart.',
    tags: ['test'],
    access: 'key',
    effect: 'read',
    resumable: true,
    input: z.strictObject({}),
    output: z.object({ finished: z.literal(true) }),
    run: async (_input, { signal }) => {
      done.push('again')
      await Promise.race([held, new Promise(stop => signal.addEventListener('abort', stop))])
      return { finished: true as const }
    },
  })
  const talk = defineSkill({
    group: 'fleet',
    id: 'test-talk',
    name: 'Talking stream',
    description: 'Tell how far it is, then answer.',
    tags: ['test'],
    access: 'key',
    effect: 'read',
    mode: 'stream',
    input: z.strictObject({}),
    output: z.object({ talked: z.literal(true) }),
    run: (_input, { progress }) => {
      progress({ done: 1, total: 2, message: 'half' })
      return { talked: true as const }
    },
  })
  const broken = defineSkill({
    group: 'fleet',
    id: 'test-broken',
    name: 'Broken leg',
    description: 'Fail in the way that is asked for.',
    tags: ['test'],
    access: 'key',
    effect: 'read',
    input: z.strictObject({
      how: z.enum(['known', 'unknown', 'denied', 'needs']),
      site: z.string().exactOptional(),
    }),
    output: z.object({ fine: z.literal(true) }),
    run: ({ how, site }) => {
      if (how === 'unknown') throw new TypeError('a secret of the inside')
      if (how === 'denied') throw new ShoalError('forbidden', 'the policy says no')
      if (how === 'known') throw new ShoalError('cell_unavailable', 'no cell answers')
      if (site === undefined)
        throw new ShoalError('invalid_request', 'site is not configured', { param: 'site' })
      return { fine: true as const }
    },
  })
  const skills: Skill[] = [echo, open, gated, slow, again, talk, broken]
  return { skills, done, release }
}
