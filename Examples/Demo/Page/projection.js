// The Natural Earth projection (Šavrič, Jenny, Patterson, Petrovič, Hurni 2011), in the coordinates of the map.

/** Degrees of latitude and longitude as x and y. */
export function projected(latitude, longitude) {
  const f = latitude * Math.PI / 180, f2 = f * f, f4 = f2 * f2;
  const width = 0.8707 - 0.131979 * f2 + f4 * (-0.013791 + f4 * (0.003971 * f2 - 0.001529 * f4));
  const height = f * (1.007226 + f2 * (0.015085 + f4 * (-0.044475 + 0.028874 * f2 - 0.005916 * f4)));
  return [longitude * width * 1.13, -height * 180 / Math.PI * 1.05];
}

/** A line through points, as the path of an SVG. */
export function path(points, end = "") {
  return points.map(([latitude, longitude], i) =>
    (i ? "L" : "M") + projected(latitude, longitude).map(n => n.toFixed(1)).join(" ")).join("") + end;
}
