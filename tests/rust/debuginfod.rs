//! `smark` with the feature `debuginfod` and a local server in this test. A stripped program gets
//! its debug information from the server. Debug information of another program is refused with both
//! build ids. Missing debug information is no error. Needs no network.
//!
//! Runs only with the feature `debuginfod` of this crate, because it builds the command again.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use simple_markers_tests::file_server::FileServer;
use simple_markers_tests::{fixture, image, tools};

/// Serves debug information for a build id.
fn serve(server: &FileServer, build_id: &str, file: &Path) {
    server.put(&format!("/buildid/{build_id}/debuginfo"), fs::read(file).expect("the file"));
}

/// A program and its separate debug file.
fn split(folder: &Path, name: &str, factor: u32) -> (PathBuf, PathBuf) {
    let (source, program, debug) =
        (folder.join(format!("{name}.c")), folder.join(name), folder.join(format!("{name}.debug")));
    let text = format!(
        "#include \"simple_marker.h\"\nint main(int count, char **words) {{\n\
         int value = count * {factor};\n\
         simple_mark(debuginfod:value, \"%d %p\", value, words);\nreturn value;\n}}\n"
    );
    fs::write(&source, text).expect("the source is written");
    let mut gcc = Command::new("gcc");
    gcc.current_dir(fixture::workspace()).args(["-O0", "-g", "-Imarkers/include", "-Wl,--build-id=sha1", "-o"]);
    tools::run(gcc.arg(&program).arg(&source));
    tools::run(Command::new("objcopy").arg("--only-keep-debug").arg(&program).arg(&debug));
    tools::run(Command::new("strip").args(["-g", "--keep-section=.debug.simple_marker.*"]).arg(&program));
    (program, debug)
}

/// The output of `smark` for the image, and its notes.
fn listed(smark: &Path, server: &FileServer, cache: &Path, program: &Path) -> (Value, String) {
    let mut command = Command::new(smark);
    command.args(["list", "--json"]).arg(program).env("DEBUGINFOD_CACHE_PATH", cache);
    command.env("DEBUGINFOD_URLS", &server.url).env("DEBUGINFOD_TIMEOUT", "20").env("NO_PROXY", "*");
    for proxy in ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"] {
        command.env_remove(proxy);
    }
    let listed = tools::ended(&mut command);
    let json: Value = serde_json::from_str(&listed.stdout).expect("smark prints JSON");
    (json["images"][0].clone(), listed.stderr)
}

#[test]
fn debug_information_comes_from_a_server_and_is_checked() {
    if ["gcc", "objcopy", "strip"].iter().any(|tool| tools::find(tool).is_none()) {
        return;
    }
    let smark = fixture::smark_with("debuginfod");
    let folder = tempfile::tempdir().expect("a folder");
    let ((program, debug), (_, other)) = (split(folder.path(), "mine", 3), split(folder.path(), "other", 5));
    let server = FileServer::start();
    let listed = |cache: &str| listed(&smark, &server, &folder.path().join(cache), &program);
    let argument = |image: &Value| image["markers"][0]["sites"][0]["args"][0].clone();

    // The server has no debug information, so arguments have no verdicts.
    let (image, _) = listed("missed");
    let build_id = image["build_id"].as_str().expect("a build id").to_owned();
    assert_eq!(image["debug"], Value::Null, "{image}");
    assert_eq!(argument(&image)["verdict"], Value::Null, "{image}");
    let path = format!("/buildid/{build_id}/debuginfo");
    assert_eq!(server.asked(), [path.as_str()]);
    // A missing file is not requested again.
    assert_eq!(listed("missed").0["debug"], Value::Null);
    assert_eq!(server.asked().len(), 1);

    // The debug information of another program is refused with both build ids.
    serve(&server, &build_id, &other);
    let (image, notes) = listed("wrong");
    let said = format!("{notes}{}", image["diagnostics"]);
    let theirs = image::build_id(&other);
    assert!(said.contains(&format!("its build id is {theirs}, the image's is {build_id}")), "{said}");
    assert_eq!((&image["debug"], &argument(&image)["verdict"]), (&Value::Null, &Value::Null), "{image}");

    // Its own debug information is read from the server once, and then from the cache.
    serve(&server, &build_id, &debug);
    for _ in 0..2 {
        let (image, _) = listed("right");
        assert_eq!(image["debug"]["source"], "debuginfod", "{image}");
        assert_eq!(argument(&image)["verdict"], "live", "{image}");
    }
    assert_eq!(server.asked(), [path.as_str(); 3]);
    assert_eq!(fs::read(folder.path().join("right").join(&build_id).join("debuginfo")).ok(), fs::read(&debug).ok());
}
