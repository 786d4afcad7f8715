import { CellEstop } from '../../../daemon/estop/cell-estop.ts'
import { EstopLatch } from '../../../daemon/estop/latch.ts'
import type { LatchFile } from '../../../daemon/estop/latch-file.ts'
import type { StoppableDevice } from '../../../daemon/estop/stoppable-devices.ts'
import { newId } from '../../../shared/ids.ts'
import { NOTHING_SEEN } from '../../../shared/wire/device-outcome.ts'
import type { EngagedStop, ReleasedStop } from '../../../shared/wire/estop.ts'
import { silent } from '../../support/cell.ts'
import { DEV_A, DEV_B } from '../../support/device-ids.ts'

export const CELL = newId('cell')
export const NOW = 1_800_000_000_000

/** A file in memory, whose disk the test can make fail or hang. */
export const memoryFile = (text?: string) => {
  const disk = { text, fault: undefined as Error | undefined, wait: Promise.resolve(), writes: 0 }
  const file: LatchFile = {
    read: async () => disk.text,
    replace: async text => {
      await disk.wait
      if (disk.fault) throw disk.fault
      disk.writes++
      disk.text = text
    },
  }
  return { disk, file }
}

export const device = (deviceId: string, site: string | null = null): StoppableDevice => ({
  deviceId,
  name: `name of ${deviceId}`,
  site,
  isAvailable: true,
  atEstop: 'hold',
})

/** A cell with devices; what was stopped is noted in order. */
export const cellWith = async (
  devices: StoppableDevice[] = [device(DEV_A, 'hall'), device(DEV_B)],
  memory = memoryFile(),
) => {
  const stopped: string[] = []
  const state = { stop: async (_id: string): Promise<void> => {}, change: (): void => {} }
  const latch = await EstopLatch.open({ file: memory.file, now: () => NOW, logger: silent })
  const estop = new CellEstop({ latch, now: () => NOW, logger: silent })
  estop.attach({
    cellId: CELL,
    devices: {
      listDevices: () => devices,
      onChange: listener => {
        state.change = listener
        return () => {}
      },
      stopDevice: async id => {
        stopped.push(id)
        await state.stop(id)
        return NOTHING_SEEN
      },
    },
  })
  const stoppedIds = () =>
    devices.filter(one => estop.findStop(one.deviceId)).map(id => id.deviceId)
  return { ...memory, estop, latch, stopped, state, stoppedIds }
}

export const engaged = (changes: Partial<EngagedStop> = {}): EngagedStop => ({
  estop_id: newId('est'),
  scope: 'all',
  target: null,
  engaged_at: NOW,
  engaged_by: 'key:one',
  reason: 'smoke',
  ...changes,
})

export const released = ({ estop_id }: Pick<EngagedStop, 'estop_id'>): ReleasedStop => ({
  estop_id,
  released_at: NOW,
  released_by: 'key:one',
  reason: 'the smoke is gone',
})
