import t from 'tap'
import { newCell } from '../../../../coordinator/fleet/cells/cell.ts'
import { describeModel } from '../../../../coordinator/fleet/models/operations/model-view.ts'
import { Catalogue } from '../../../../shared/catalogue.ts'
import { a2aScene, caller } from '../../../support/a2a.ts'

/**
 * Pools of the catalogue: `one` is loaded on one of two cells, `two` on none, and `three` has no
 * cell.
 */
const pools: Record<string, object[]> = {
  'model-a:7b': [{ engines: [{ ready: true }] }, { engines: [{ ready: false }] }],
  'model-b:3b': [{ engines: [{ ready: false }] }],
}
const asked: (string | undefined)[] = []
const router = {
  all: () => [],
  pools: (model: string, tenantId: string | undefined) => {
    asked.push(tenantId)
    return pools[model] ?? []
  },
}
const { url, demo } = await a2aScene(t, {
  views: { routing: { router, nowMs: () => 0 } as never },
})

t.test('the catalogue lists the loaded models of cells that the caller may use', async t => {
  const { status, json } = await caller(url, demo.enterprise).json('/v1/catalogue')
  t.equal(status, 200)
  const byId = Object.fromEntries(json.models.map((model: { id: string }) => [model.id, model]))
  t.match(byId['model-a:7b'], {
    kind: 'chat',
    state: 'ready',
    cells_ready: 1,
    cells: 2,
    origin: 'configuration',
  })
  t.match(byId['model-b:3b'], { state: 'cold', cells_ready: 0, cells: 1, reason: null })
  t.match(byId['model-c:7b'], { state: 'unavailable', cells: 0, weights: 'bundled-demo' })
  t.not(asked[0], undefined, 'the pools of its tenant are asked for')
})

t.test('a tier sees its own models, filtered by kind on request', async t => {
  const free = caller(url, demo.free)
  const { models } = (await free.json('/v1/catalogue')).json
  t.ok(models.every((model: { minimum_tier: string }) => model.minimum_tier === 'free'))
  const listed = (await free.json('/v1/models')).json.data
  t.strictSame(ids(models), ids(listed), 'the same as the list of OpenAI')
  const embeddings = (await caller(url, demo.pro).json('/v1/catalogue?kind=embedding')).json.models
  t.ok(embeddings.length > 0)
  t.ok(embeddings.every((model: { kind: string }) => model.kind === 'embedding'))
  t.equal((await free.json('/v1/catalogue?kind=song')).status, 422)
  t.equal((await caller(url, undefined).json('/v1/catalogue')).status, 401)
})

t.test('an added model that a cell serves from its own file is marked on that cell', async t => {
  const catalogue = Catalogue.parse([
    { id: 'm', weights: '/m.gguf', kind: 'chat', minimum_tier: 'free', context_length: 512 },
  ])
  const cell = (id: string, own_models?: string[]) => ({
    ...newCell(id, 1),
    presence: 'ready' as const,
    sample: { engines: [{ models: ['m'], ...(own_models && { own_models }) }] } as never,
  })
  const cells = [cell('a', ['m']), cell('b'), cell('c', ['other'])]
  const models = { find: () => ({ id: 'm', cells: [] }) as never, aliasesOf: () => [] }
  const views = { catalogue, models: models as never, fleet: { cells: () => cells } as never }
  const shown = describeModel(views, 'm').cells.map(({ cell_id, own_weights }) => [
    cell_id,
    own_weights,
  ])
  t.strictSame(Object.fromEntries(shown), { a: true, b: false, c: false })
})

const ids = (models: { id: string }[]): string[] => models.map(({ id }) => id)
