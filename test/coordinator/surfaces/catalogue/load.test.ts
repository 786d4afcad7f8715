import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import * as z from 'zod'
import { perform } from '../../../../coordinator/calls/invoke/gate.ts'
import type { GateRequest } from '../../../../coordinator/kernel/declaration/gate-request.ts'
import {
  defineOperation,
  type Operation,
} from '../../../../coordinator/kernel/declaration/operation.ts'
import { PendingResult } from '../../../../coordinator/kernel/declaration/pending-result.ts'
import { loadDeclared } from '../../../../coordinator/surfaces/catalogue/load.ts'
import { ShoalError } from '../../../../shared/errors.ts'

/** A folder with these files; a declaration is its id alone. */
const folderOf = (t: Test, files: Record<string, string>): string => {
  const folder = t.testdir({})
  for (const [path, source] of Object.entries(files)) {
    mkdirSync(join(folder, path, '..'), { recursive: true })
    writeFileSync(join(folder, path), source)
  }
  return folder
}

const declares = (id: string): string => `export default { id: '${id}' }`

t.test('every file with a default export is a declaration, and no other file is', async t => {
  const folder = folderOf(t, {
    'area/tools/operations/b-show.ts': declares('b-show'),
    'area/tools/operations/a-list.ts': declares('a-list'),
    'area/tools/operations/view.ts': 'export const view = 1',
    'area/tools/open.ts': declares('not-an-operation'),
    'area/tools/operations/more/c.ts': declares('c'),
  })
  const ids = (await loadDeclared(folder)).map(({ id }) => id)
  t.strictSame(ids, ['c', 'a-list', 'b-show'])
})

t.test('a declaration that differs from its file name is refused', async t => {
  const folder = folderOf(t, { 'area/tools/operations/a-list.ts': declares('b-list') })
  await t.rejects(loadDeclared(folder), /a-list\.ts declares b-list/)
})

t.test('a duplicate declaration is refused', async t => {
  const folder = folderOf(t, {
    'area/one/operations/a.ts': declares('a'),
    'area/two/operations/a.ts': declares('a'),
  })
  await t.rejects(loadDeclared(folder), /a is declared twice/)
})

t.test('a file may declare a list whose names begin with its own', async t => {
  const list = "export default [{ id: 'a-one' }, { id: 'a-two' }]"
  const loaded = await loadDeclared(folderOf(t, { 'area/tools/operations/a.ts': list }))
  t.match(loaded, [
    { id: 'a-one', group: 'tools' },
    { id: 'a-two', group: 'tools' },
  ])
})

t.test('a list that declares a foreign name is refused', async t => {
  for (const id of ['b-one', 'a', 'another']) {
    const list = `export default [{ id: 'a-one' }, { id: '${id}' }]`
    await t.rejects(
      loadDeclared(folderOf(t, { 'area/tools/operations/a.ts': list })),
      /a\.ts declares/,
    )
  }
})

const stone = {
  id: 'stones-move',
  description: 'Move a stone.',
  method: 'POST',
  path: '/v1/stones',
  access: 'operator',
  input: z.strictObject({ dry_run: z.boolean() }),
  output: z.object({}),
} as const
const planned = { plan: {}, summary: 'move a stone' }

t.test('an operation that acts does not compile without its plan', async t => {
  // @ts-expect-error: a gated operation has a plan
  t.throws(() => defineOperation({ ...stone, effect: 'gated', run: () => ({}) }), /show/)
  // @ts-expect-error: an operation that writes has none
  defineOperation({ ...stone, effect: 'write', plan: () => planned, show: () => ({}) })
})

t.test('a write that uses an earlier approval has a plan and is never pending', async t => {
  const facts = { ...stone, input: z.strictObject({}), output: z.object({ moved: z.boolean() }) }
  const using = { ...facts, effect: 'write', usesApproval: true } as const
  const request = { id: 'gate_1', state: 'pending' } as GateRequest
  const plan = () => ({ plan: {}, request })
  const moved = { moved: true }
  // @ts-expect-error: the plan names the request
  defineOperation({ ...using, run: () => moved })
  // @ts-expect-error: a pending answer is not one of its answers
  defineOperation({ ...using, plan, run: (): PendingResult => new PendingResult(request) })
  const consume = () => Promise.reject(new ShoalError('forbidden', 'it is pending'))
  const key = { personId: 'ada' }
  const context = { key, tenantId: 'home', actor: {}, gates: { consume } } as never
  const call = async (operation: Operation) => perform(operation, {}, context)
  const careless = defineOperation({ ...using, plan, run: () => moved })
  await t.rejects(call(careless), /did not use the approval gate_1/)
  const careful = defineOperation({
    ...using,
    plan,
    run: (_plan: object, _context, approval) => approval?.use(async () => moved) ?? moved,
  })
  await t.rejects(call(careful), { code: 'forbidden', message: 'it is pending' })
})

t.test('a dry run needs an answer, and its answer needs an input', async t => {
  const acting = { ...stone, effect: 'gated', plan: () => planned, run: () => ({}) } as const
  t.throws(() => defineOperation(acting), /dry_run and a plan with show belong together/)
  t.throws(
    () => defineOperation({ ...acting, input: z.strictObject({}), show: () => ({}) }),
    /belong together/,
  )
  t.doesNotThrow(() => defineOperation({ ...acting, show: () => ({}) }))
})
