/**
 * Ports of machines of a fleet and of what stands beside them. Numbers as registered (IANA Service
 * Name and Port Number Registry) or as the documentation of the product has them.
 */
export const FLEET_PORTS: readonly number[] = [
  ...[22, 80, 443, 8080, 8443, 11_434, 8000, 1883, 8883, 9100, 631, 515],
  ...[23, 21, 53, 445, 554, 3000, 5000, 7070, 7125, 8123, 9090, 3389, 5900],
]

/** Ports by which a host shows what it is: those of a fleet, and of mail, files and databases. */
export const HOST_PORTS: readonly number[] = [...FLEET_PORTS, 25, 111, 139, 3306, 5432]

/** Ports of HTTP servers among them. Nothing is sent to others: a printer prints what it gets. */
export const WEB_PORTS: readonly number[] = [
  ...[80, 443, 8080, 8443, 11_434, 8000, 631, 3000, 5000, 7070, 7125, 8123, 9090],
]

/** Ports of LLM runtimes, the most common ones first (documentation of each runtime). */
export const LLM_PORTS: readonly number[] = [
  ...[11_434, 8000, 8080, 1234, 80, 3000, 443, 30_000, 5000, 5001, 7070],
  ...[12_434, 23_333, 52_415, 9997, 4000, 1337],
]
