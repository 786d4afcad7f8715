import { shareRuns } from './share-runs.ts'

/**
 * Returns a listener that reads what others have changed, one run at a time. Of several failures in
 * a row only the first is reported: while the store is away, every look at it fails.
 */
export const followChanges = (
  read: () => Promise<void>,
  onFailure: (error: Error) => void,
): (() => void) => {
  let isFailing = false
  const run = shareRuns(async () => {
    try {
      await read()
      isFailing = false
    } catch (error) {
      if (!isFailing) onFailure(error as Error)
      isFailing = true
    }
  })
  return () => void run()
}
