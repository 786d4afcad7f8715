import t from 'tap'
import { newCell } from '../../../../coordinator/fleet/cells/cell.ts'
import { ModelFactsMemory } from '../../../../coordinator/fleet/questions/model-facts-memory.ts'
import type { CatalogueEntry } from '../../../../shared/catalogue.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'
import { CAPABILITY } from '../../../../shared/wire/capability.ts'
import { type CellHandler, linkCell } from '../../../support/cell.ts'

const entryOf = (id: string) => ({ id, kind: 'chat' }) as CatalogueEntry

const factsOf = (architecture: string) => ({
  kind: 'chat',
  weights: '/w.gguf',
  file_bytes: 70,
  architecture,
  quantization: 'Q4_K_M',
  parameters: 7,
  name: 'Seven',
  licence: null,
  licence_url: null,
  context_length: 2048,
  layers: 1,
  embedding_length: 1,
  vocabulary: 1,
  tool_format: null,
  chat_template: null,
})

const tell =
  (architecture: string): CellHandler =>
  (_request, response) =>
    void response.end(JSON.stringify(factsOf(architecture)))

const cellWith = async (id: string, models: string[], answer: CellHandler) => {
  const behaviour = { answer }
  const { link, close } = await linkCell(id, (...call) => behaviour.answer(...call))
  t.teardown(close)
  const cell = {
    ...newCell(id, 1),
    presence: 'ready' as const,
    link,
    announce: { capability: CAPABILITY } as never,
    sample: {
      gpus: [],
      engines: models.map(model => ({ models: [model], file_bytes: 70 })),
    } as never,
  }
  return { cell, behaviour }
}

t.test('a silent cell delays only what no other cell can tell', async t => {
  const hung = await cellWith('hung', ['only-there', 'both'], () => {})
  const well = await cellWith('well', ['both', 'other'], tell('qwen3'))
  const memory = new ModelFactsMemory({
    fleet: { cells: () => [hung.cell, well.cell] },
    mayUse: (cellId, tenantId) => tenantId === 'all' || cellId === 'well',
    runtime: { ...systemRuntime, nowMs: () => 0 },
  })
  const waiting = memory.prepare([entryOf('only-there')], 'all')
  await memory.prepare([entryOf('other'), entryOf('both')], 'one')
  t.equal(memory.find(entryOf('other'), 'one')?.architecture, 'qwen3')
  t.equal(memory.find(entryOf('both'), 'all')?.architecture, 'qwen3', 'whoever asked')
  await waiting
  t.equal(memory.find(entryOf('only-there'), 'all'), undefined)
})

t.test(
  'old facts serve while they are read again, and those of other cells are not told',
  async t => {
    const clock = { ms: 1 }
    const { cell, behaviour } = await cellWith('own', ['a'], tell('qwen3'))
    const memory = new ModelFactsMemory({
      fleet: { cells: () => [cell] },
      mayUse: (_cellId, tenantId) => tenantId === 'one',
      runtime: { ...systemRuntime, nowMs: () => clock.ms },
    })
    await memory.prepare([entryOf('a')], 'two')
    t.equal(memory.find(entryOf('a'), 'two'), undefined)
    await memory.prepare([entryOf('a')], 'one')
    clock.ms += 3_600_000
    const asked = Promise.withResolvers<void>()
    behaviour.answer = () => asked.resolve()
    await memory.prepare([entryOf('a')], 'one')
    await asked.promise
    t.equal(memory.find(entryOf('a'), 'one')?.architecture, 'qwen3')
    t.equal(memory.find(entryOf('a'), 'two'), undefined)
  },
)
