import type { FlightRow } from './flight.ts'

/** Prints the commands of a flight, one a line, and each word that is not true below its own. */
export const showRows = (name: string, rows: readonly FlightRow[]): void => {
  console.log(`\n${name}`)
  for (const row of rows) {
    const { step, state, reason, message, seen, seconds, approved, flown_m_s, truth } = row
    const speed = `${approved.speed_m_s ?? '-'}/${flown_m_s.toFixed(1)} m/s`
    const words = [reason, message].filter(Boolean).join(': ').slice(0, 110)
    console.log(
      `  ${row.untrue.length === 0 ? 'true  ' : 'UNTRUE'} ${step.padEnd(36)} ${state.padEnd(12)} ` +
        `${(seen?.state ?? '-').padEnd(8)} ${`${seconds} s`.padStart(8)} ${speed.padStart(14)} ` +
        `${truth?.altitude_m.toFixed(1).padStart(5)} m ${row.autopilot.padEnd(16)} ${words}`,
    )
    for (const word of row.untrue) console.log(`         ${word}`)
  }
}
