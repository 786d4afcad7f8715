import t from 'tap'
import { createWitnesses } from '../../../../coordinator/fleet/broker/audit-witnesses.ts'
import { silent } from '../../../support/cell.ts'

const createWitnessRig = (count: number) => {
  const told: string[] = []
  const cells = Array.from({ length: count }, (_, n) => ({ id: `cell_${n}`, presence: 'ready' }))
  const tell = createWitnesses({
    bus: { publish: async (_kind: string, id: string) => void told.push(id) },
    fleet: { cells: () => cells.values() },
    logger: silent,
  } as never)
  return (): string[] => {
    told.length = 0
    tell({} as never)
    return [...told]
  }
}

t.test('every cell of a small fleet receives every head', t => {
  const next = createWitnessRig(3)
  for (let n = 0; n < 4; n++) t.strictSame(next(), ['cell_0', 'cell_1', 'cell_2'])
  t.end()
})

t.test('all cells of a large fleet take turns, none twice for one head', t => {
  const next = createWitnessRig(20)
  for (let round = 0; round < 3; round++) {
    const heads = [next(), next(), next(), next()]
    for (const head of heads) t.equal(new Set(head).size, 8)
    t.equal(new Set(heads.flat()).size, 20)
  }
  t.end()
})
