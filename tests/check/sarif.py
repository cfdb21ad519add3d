"""Reads a SARIF file into the object model of python3-sarif-python-om, which was generated from the schema of OASIS.

A property that an object does not have, or one that it needs and that is missing, is an error. The values are left to
sarif.schema.json.
"""

import json
import sys

import attr
import sarif_om

# The class of each property that is an object, or a list of objects, by the class that it is a property of.
MODEL = {
    "SarifLog": {"runs": "Run"},
    "Run": {"tool": "Tool", "invocations": "Invocation", "results": "Result"},
    "Tool": {"driver": "ToolComponent"},
    "ToolComponent": {"rules": "ReportingDescriptor"},
    "ReportingDescriptor": {
        "shortDescription": "MultiformatMessageString",
        "fullDescription": "MultiformatMessageString",
        "help": "MultiformatMessageString",
        "defaultConfiguration": "ReportingConfiguration",
    },
    "Invocation": {"toolExecutionNotifications": "Notification"},
    "Notification": {"message": "Message"},
    "Result": {
        "message": "Message",
        "locations": "Location",
        "relatedLocations": "Location",
        "suppressions": "Suppression",
        "fixes": "Fix",
    },
    "Location": {"physicalLocation": "PhysicalLocation", "logicalLocations": "LogicalLocation", "message": "Message"},
    "PhysicalLocation": {"artifactLocation": "ArtifactLocation", "region": "Region", "contextRegion": "Region"},
    "ArtifactLocation": {"description": "Message"},
    "Region": {"snippet": "ArtifactContent", "message": "Message"},
    "Fix": {"description": "Message", "artifactChanges": "ArtifactChange"},
    "ArtifactChange": {"artifactLocation": "ArtifactLocation", "replacements": "Replacement"},
    "Replacement": {"deletedRegion": "Region", "insertedContent": "ArtifactContent"},
}
# Objects whose names anybody may choose.
FREE = {"properties", "partialFingerprints", "originalUriBaseIds"}


def read(value, name, path):
    """The object of that class, and how many objects it is made of."""
    model = getattr(sarif_om, name)
    fields = {field.metadata["schema_property_name"]: field.name for field in attr.fields(model)}
    arguments, count = {}, 1
    for key, inner in value.items():
        where = f"{path}.{key}"
        if key not in fields:
            sys.exit(f"{where}: {name} has no such property")
        kind = MODEL.get(name, {}).get(key)
        inners = inner if isinstance(inner, list) else [inner]
        if kind is not None:
            count += sum(read(each, kind, f"{where}[{index}]") for index, each in enumerate(inners))
        elif key not in FREE and any(isinstance(each, dict) for each in inners):
            sys.exit(f"{where}: MODEL does not say what this is")
        arguments[fields[key]] = inner
    try:
        model(**arguments)
    except TypeError as error:
        sys.exit(f"{path}: {error}")
    return count


with open(sys.argv[1], encoding="utf-8") as file:
    print(read(json.load(file), "SarifLog", "$"), "objects")
