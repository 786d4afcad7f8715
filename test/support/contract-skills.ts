import * as z from 'zod'
import { CellRef } from '../../coordinator/fleet/cells/cell-field.ts'
import { defineSkill, type Skill } from '../../coordinator/kernel/declaration/skill.ts'
import { ShoalError } from '../../shared/errors.ts'

const card = { tags: ['test'], name: 'Fixture' }
const input = z.strictObject({ word: z.string() })
const output = z.object({ said: z.string(), times: z.int() })

/** One skill of every kind that the pipeline knows, and a log of what they did. */
export const contractSkills = () => {
  const done: string[] = []
  let begun = Promise.withResolvers<void>()
  let aborted = Promise.withResolvers<void>()
  /** Promises of the next call of fix-wait. */
  const waiting = {
    next: () => {
      begun = Promise.withResolvers<void>()
      aborted = Promise.withResolvers<void>()
      return { begun: begun.promise, aborted: aborted.promise }
    },
  }
  const release = Promise.withResolvers<void>()

  const say = (word: string) => {
    done.push(word)
    return { said: word, times: done.filter(each => each === word).length }
  }
  const facts = { ...card, access: 'key', input, output } as const

  const skills: Skill[] = [
    defineSkill({
      group: 'fleet',
      ...facts,
      id: 'fix-read',
      description: 'Reads.',
      effect: 'read',
      run: ({ word }) => say(word),
    }),
    defineSkill({
      group: 'fleet',
      ...facts,
      id: 'fix-cells',
      description: 'Names cells.',
      effect: 'read',
      input: z.strictObject({
        word: CellRef.exactOptional().describe('One.'),
        on: z.array(CellRef).max(9).default([]),
      }),
      run: ({ word, on }) => say([word ?? '-', ...on].join()),
    }),
    defineSkill({
      group: 'fleet',
      ...facts,
      id: 'fix-cell-task',
      description: 'Goes on by itself, on a cell.',
      effect: 'write',
      mode: 'task',
      input: z.strictObject({ on: z.array(CellRef).max(9) }),
      run: ({ on }) => say(on.join()),
    }),
    defineSkill({
      group: 'fleet',
      ...facts,
      id: 'fix-write',
      description: 'Writes.',
      effect: 'write',
      run: ({ word }) => say(word),
    }),
    defineSkill({
      group: 'fleet',
      ...facts,
      id: 'fix-once',
      description: 'Must not happen twice, unless it is dry.',
      effect: 'write',
      needsCallKey: ({ word }) => !word.startsWith('dry'),
      run: ({ word }) => say(word),
    }),
    defineSkill({
      group: 'fleet',
      ...facts,
      id: 'fix-stream',
      description: 'Reports progress.',
      effect: 'read',
      mode: 'stream',
      run: ({ word }, { progress }) => {
        progress({ done: 1, total: 1 })
        return say(word)
      },
    }),
    defineSkill({
      group: 'fleet',
      ...facts,
      id: 'fix-task',
      description: 'Goes on by itself.',
      effect: 'write',
      mode: 'task',
      run: ({ word }) => say(word),
    }),
    defineSkill({
      group: 'fleet',
      ...facts,
      id: 'fix-plan',
      description: 'Plans, and asks at a gate for a heavy stone alone.',
      effect: 'gated',
      input: input.extend({ dry_run: z.boolean().default(false) }),
      plan: ({ word }) => ({
        plan: { stone: word },
        summary: `move ${word}`,
        subject: word,
        ...(word.startsWith('heavy') ? { gate: 'gate.minor-release-approve' } : {}),
      }),
      show: ({ stone }) => ({ said: `would move ${stone}`, times: 0 }),
      run: async ({ stone }: { stone: string }, _context, approval) =>
        approval === undefined ? say(stone) : approval.use(async () => say(stone)),
    }),
    defineSkill({
      group: 'fleet',
      ...facts,
      id: 'fix-refuse',
      description: 'Refuses.',
      effect: 'write',
      run: () => {
        throw new ShoalError('conflict', 'it is refused')
      },
    }),
    defineSkill({
      group: 'fleet',
      ...facts,
      id: 'fix-operator',
      description: 'Serves operators.',
      access: 'operator',
      effect: 'read',
      run: ({ word }) => say(word),
    }),
    defineSkill({
      group: 'fleet',
      ...facts,
      id: 'fix-slow',
      description: 'Ignores its signal until it is released.',
      effect: 'write',
      timeoutSeconds: 0.05,
      run: async ({ word }) => {
        await release.promise
        return say(word)
      },
    }),
    defineSkill({
      group: 'fleet',
      ...facts,
      id: 'fix-wait',
      description: 'Waits until it is cancelled.',
      effect: 'read',
      run: async ({ word }, { signal }) => {
        const { resolve } = aborted
        signal.addEventListener('abort', () => resolve())
        begun.resolve()
        await aborted.promise
        return say(word)
      },
    }),
  ]
  return { skills, done, release: release.resolve, waiting }
}
